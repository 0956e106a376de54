//! The table of settings.

use std::net::SocketAddr;
use std::path::Path;

use stepwell_connectors::egress::{Cidr, HostPattern};
use stepwell_core::duration::Interval;

use super::place::StorePlace;

/// One setting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// in `stepwell.toml`; the environment variable follows from it
    pub(crate) key: &'static str,
    /// on the command line, without the dashes
    pub(crate) flag: &'static str,
    /// which commands have a flag for it
    pub(crate) scope: Scope,
    /// what its values are
    pub(crate) kind: Kind,
    /// if nobody says anything; `None`: see the help text
    pub(crate) default: Option<&'static str>,
    /// a sentence for the help text
    pub(crate) help: &'static str,
}

/// Which commands have a flag for a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// those that run a server
    Serve,
    /// those that talk to one
    Client,
    /// those that sign in to one
    Login,
    /// all of them
    Every,
}

/// What the values of a setting are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// a path of a file or a folder
    Path,
    /// `http://…` or `https://…`
    Url,
    /// an address with a port
    Address,
    /// a whole number from 1
    Count,
    /// a length of time such as `30d`
    Duration,
    /// a length of time between two happenings, longer than nothing
    Period,
    /// a file of SQLite or a database of PostgreSQL
    Store,
    /// on or off
    Switch,
    /// one of these words
    Word(&'static [&'static str]),
    /// some of these words
    Words(&'static [&'static str]),
    /// hosts such as `*.example.com`
    Hosts,
    /// networks such as `10.0.0.0/8`
    Networks,
    /// whole paths of folders
    Directories,
    /// text
    Text,
    /// text that is never shown
    Secret,
}

/// What is shown instead of a secret.
const HIDDEN: &str = "(set, not shown)";

/// Every setting, in the order it is shown.
pub(crate) const SETTINGS: [Setting; 40] = [
    Setting {
        key: "output",
        flag: "output",
        scope: Scope::Every,
        kind: Kind::Word(&["table", "json"]),
        default: Some("table"),
        help: "How results are written: a table for people, or JSON for programs",
    },
    Setting {
        key: "server",
        flag: "server",
        scope: Scope::Client,
        kind: Kind::Url,
        default: Some("http://127.0.0.1:8080"),
        help: "The server to talk to",
    },
    Setting {
        key: "token",
        flag: "token",
        scope: Scope::Client,
        kind: Kind::Secret,
        default: None,
        help: "The access token; on the server's own machine the file admin-token in the data \
               directory is used if there is no other",
    },
    Setting {
        key: "tenant_id",
        flag: "tenant-id",
        scope: Scope::Login,
        kind: Kind::Text,
        default: None,
        help: "The directory of the identity provider that people sign in to",
    },
    Setting {
        key: "client_id",
        flag: "client-id",
        scope: Scope::Login,
        kind: Kind::Text,
        default: None,
        help: "What the identity provider knows this program as",
    },
    Setting {
        key: "api_scope",
        flag: "api-scope",
        scope: Scope::Login,
        kind: Kind::Text,
        default: None,
        help: "What the identity provider is asked to let this program do",
    },
    Setting {
        key: "data",
        flag: "data",
        scope: Scope::Serve,
        kind: Kind::Path,
        default: None,
        help: "The directory for all data; by default stepwell in the XDG data directory",
    },
    Setting {
        key: "store",
        flag: "store",
        scope: Scope::Serve,
        kind: Kind::Store,
        default: None,
        help: "Where everything is kept: sqlite:FILE, or postgres://… for several servers that share \
               the work; by default stepwell.db in the data directory",
    },
    Setting {
        key: "listen",
        flag: "listen",
        scope: Scope::Serve,
        kind: Kind::Address,
        default: Some("127.0.0.1:8080"),
        help: "The address to listen on; port 0 takes a free one",
    },
    Setting {
        key: "base_url",
        flag: "base-url",
        scope: Scope::Serve,
        kind: Kind::Url,
        default: None,
        help: "The URL under which workers reach this server, for the callbacks in directives; by \
               default made from the listen address",
    },
    Setting {
        key: "behind_proxy",
        flag: "behind-proxy",
        scope: Scope::Serve,
        kind: Kind::Switch,
        default: Some("false"),
        help: "Allow an address that other machines can reach; a proxy in front must then do TLS",
    },
    Setting {
        key: "roles",
        flag: "roles",
        scope: Scope::Serve,
        kind: Kind::Words(&["api", "engine", "scheduler"]),
        default: Some("api,engine,scheduler"),
        help: "What this process does, with commas between: api takes requests, engine carries work \
               out, scheduler asks the data sources of runbooks",
    },
    Setting {
        key: "tenant_cap",
        flag: "tenant-cap",
        scope: Scope::Serve,
        kind: Kind::Count,
        default: Some("100"),
        help: "How many jobs of one tenant may be open at once",
    },
    Setting {
        key: "batches_need_a_reader",
        flag: "batches-need-a-reader",
        scope: Scope::Serve,
        kind: Kind::Switch,
        default: Some("false"),
        help: "Show runbooks and batches to administrators, operators and viewers only, and not to \
               whoever has a valid token",
    },
    Setting {
        key: "retention",
        flag: "retention",
        scope: Scope::Serve,
        kind: Kind::Duration,
        default: None,
        help: "How long ended jobs of commands are kept, such as 30d; by default for ever",
    },
    Setting {
        key: "retention_failed",
        flag: "retention-failed",
        scope: Scope::Serve,
        kind: Kind::Duration,
        default: None,
        help: "How long failed ones are kept; by default as long as the others",
    },
    Setting {
        key: "retention_platform",
        flag: "retention-platform",
        scope: Scope::Serve,
        kind: Kind::Duration,
        default: None,
        help: "How long ended jobs of the platform are kept; by default for ever",
    },
    Setting {
        key: "retention_runbooks",
        flag: "retention-runbooks",
        scope: Scope::Serve,
        kind: Kind::Duration,
        default: None,
        help: "How long ended runs of batches are kept once nothing is left to do there; by default for \
               ever",
    },
    Setting {
        key: "retention_workspaces",
        flag: "retention-workspaces",
        scope: Scope::Serve,
        kind: Kind::Duration,
        default: Some("30d"),
        help: "How long ended jobs of workspaces are kept, unless the workspace has a policy of its \
               own",
    },
    Setting {
        key: "retention_workspaces_dead",
        flag: "retention-workspaces-dead",
        scope: Scope::Serve,
        kind: Kind::Duration,
        default: Some("90d"),
        help: "How long dead jobs of workspaces are kept, unless the workspace has a policy of its \
               own",
    },
    Setting {
        key: "retention_stubs",
        flag: "retention-stubs",
        scope: Scope::Serve,
        kind: Kind::Duration,
        default: Some("365d"),
        help: "How long it is known of deleted jobs that they were and how they ended",
    },
    Setting {
        key: "retention_events",
        flag: "retention-events",
        scope: Scope::Serve,
        kind: Kind::Duration,
        default: Some("30d"),
        help: "How long events are kept for consumers that come back",
    },
    Setting {
        key: "retention_ledger",
        flag: "retention-ledger",
        scope: Scope::Serve,
        kind: Kind::Duration,
        default: Some("90d"),
        help: "How long every movement of credits has its own line; older ones become one line a \
               workspace and day",
    },
    Setting {
        key: "charge_credits",
        flag: "charge-credits",
        scope: Scope::Serve,
        kind: Kind::Switch,
        default: Some("false"),
        help: "Take what jobs of workspaces cost from the workspace's account, and refuse a job that it \
               does not cover; otherwise credits are only counted",
    },
    Setting {
        key: "job_lease",
        flag: "job-lease",
        scope: Scope::Serve,
        kind: Kind::Period,
        default: Some("5m"),
        help: "After how much silence of its worker an attempt of a workspace's job has failed",
    },
    Setting {
        key: "job_unclaimed",
        flag: "job-unclaimed",
        scope: Scope::Serve,
        kind: Kind::Period,
        default: Some("4d"),
        help: "How long the message of an attempt may wait for a worker before it is sent anew",
    },
    Setting {
        key: "heartbeat_interval",
        flag: "heartbeat-interval",
        scope: Scope::Serve,
        kind: Kind::Period,
        default: Some("30s"),
        help: "On PostgreSQL: how often this server gives a sign of life",
    },
    Setting {
        key: "orphan_threshold",
        flag: "orphan-threshold",
        scope: Scope::Serve,
        kind: Kind::Period,
        default: Some("120s"),
        help: "On PostgreSQL: after how much silence of a server the others take its jobs over; at \
               least three times the heartbeat interval",
    },
    Setting {
        key: "orphan_scan_interval",
        flag: "orphan-scan-interval",
        scope: Scope::Serve,
        kind: Kind::Period,
        default: Some("60s"),
        help: "On PostgreSQL: how often this server looks for jobs that nobody owns, if nothing else \
               made it look",
    },
    Setting {
        key: "scheduler_interval",
        flag: "scheduler-interval",
        scope: Scope::Serve,
        kind: Kind::Period,
        default: Some("5m"),
        help: "How often the data sources of runbooks are asked. Phases, polls and retries do not \
               wait for it",
    },
    Setting {
        key: "job_queue_name",
        flag: "job-queue-name",
        scope: Scope::Serve,
        kind: Kind::Text,
        default: Some("dag-jobs"),
        help: "The queue from which orders of the platform dialect are taken",
    },
    Setting {
        key: "allow_webhook_host",
        flag: "allow-webhook-host",
        scope: Scope::Serve,
        kind: Kind::Hosts,
        default: Some(""),
        help: "Hosts that completion webhooks may go to, such as hooks.example.com or \
               *.example.com; by default none",
    },
    Setting {
        key: "allow_webhook_network",
        flag: "allow-webhook-network",
        scope: Scope::Serve,
        kind: Kind::Networks,
        default: Some(""),
        help: "Private networks that webhooks may go to nevertheless, such as 10.1.0.0/16",
    },
    Setting {
        key: "allow_webhook_http",
        flag: "allow-webhook-http",
        scope: Scope::Serve,
        kind: Kind::Switch,
        default: Some("false"),
        help: "Allow webhooks over plain http, on any port",
    },
    Setting {
        key: "allow_trigger_directory",
        flag: "allow-trigger-directory",
        scope: Scope::Serve,
        kind: Kind::Directories,
        default: Some(""),
        help: "Directories in which, or below which, triggers may watch for dropped files; by \
               default none",
    },
    Setting {
        key: "trigger_poll_interval",
        flag: "trigger-poll-interval",
        scope: Scope::Serve,
        kind: Kind::Period,
        default: Some("2s"),
        help: "How often these directories are looked into",
    },
    Setting {
        key: "events",
        flag: "events",
        scope: Scope::Serve,
        kind: Kind::Words(&["runbooks", "platform", "workspaces", "commands"]),
        default: Some("workspaces"),
        help: "The dialects whose jobs leave events for others to follow, with commas between; those \
               of other dialects do where a subscription asks for them",
    },
    Setting {
        key: "memory_for_runs",
        flag: "memory-for-runs",
        scope: Scope::Serve,
        kind: Kind::Count,
        default: None,
        help: "Mebibytes in which runs under way are kept, so that they need not be read again; by \
               default a sixteenth of the memory, from 128 to 768",
    },
    Setting {
        key: "log",
        flag: "log",
        scope: Scope::Serve,
        kind: Kind::Word(&["text", "json"]),
        default: Some("text"),
        help: "How the log is written to standard error",
    },
    Setting {
        key: "log_filter",
        flag: "log-filter",
        scope: Scope::Serve,
        kind: Kind::Text,
        default: Some("info"),
        help: "What is logged: a level, or levels by module such as info,stepwell_engine=debug",
    },
];

/// Settings that an estate may already have under another variable, and the unit it counts in.
const ALIASES: [Alias; 8] = [
    Alias { key: "server", variable: "MATOOLKIT_API_URL", unit: "" },
    Alias { key: "tenant_id", variable: "MATOOLKIT_TENANT_ID", unit: "" },
    Alias { key: "client_id", variable: "MATOOLKIT_CLIENT_ID", unit: "" },
    Alias { key: "api_scope", variable: "MATOOLKIT_API_SCOPE", unit: "" },
    Alias { key: "heartbeat_interval", variable: "HEARTBEAT_INTERVAL_SEC", unit: "s" },
    Alias { key: "orphan_threshold", variable: "ORPHAN_THRESHOLD_SEC", unit: "s" },
    Alias { key: "orphan_scan_interval", variable: "ORPHAN_SCAN_INTERVAL_SEC", unit: "s" },
    Alias { key: "job_queue_name", variable: "JOB_QUEUE_NAME", unit: "" },
];

/// Another variable for a setting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alias {
    /// of the setting
    key: &'static str,
    /// in the environment
    pub(crate) variable: &'static str,
    /// of a bare number
    unit: &'static str,
}

impl Alias {
    /// The value as the setting wants it.
    pub(crate) fn value(&self, text: &str) -> String {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { format!("{text}{}", self.unit) } else { text.to_owned() }
    }
}

impl Setting {
    /// The setting with this key.
    pub(crate) fn named(key: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }

    /// The setting that a person means: by its key, or by its flag.
    pub(crate) fn meant(name: &str) -> Option<&'static Setting> {
        let is_meant = |setting: &&Setting| {
            [Some(setting.key), Some(setting.flag), setting.other_flag()].contains(&Some(name))
        };
        SETTINGS.iter().find(is_meant)
    }

    /// Another flag, under which those who come from elsewhere know it.
    pub(crate) fn other_flag(&self) -> Option<&'static str> {
        (self.key == "server").then_some("api-url")
    }

    /// Its environment variable.
    pub(crate) fn variable(&self) -> String {
        format!("STEPWELL_{}", self.key.to_uppercase())
    }

    /// Another environment variable, which counts if its own is not set.
    pub(crate) fn alias(&self) -> Option<&'static Alias> {
        ALIASES.iter().find(|alias| alias.key == self.key)
    }

    /// A value as it may be shown, be it valid or not.
    pub(crate) fn shown(&self, value: &str) -> String {
        match self.kind {
            Kind::Secret => HIDDEN.to_owned(),
            Kind::Store => value
                .parse::<StorePlace>()
                .map_or_else(|_| HIDDEN.to_owned(), |place| place.to_string()),
            _ => value.to_owned(),
        }
    }
}

impl Kind {
    /// Whether several values may be given.
    pub(crate) fn is_list(self) -> bool {
        match self {
            Self::Words(_) | Self::Hosts | Self::Networks | Self::Directories => true,
            Self::Path
            | Self::Url
            | Self::Address
            | Self::Count
            | Self::Duration
            | Self::Period
            | Self::Store
            | Self::Switch
            | Self::Word(_)
            | Self::Text
            | Self::Secret => false,
        }
    }

    /// The placeholder in the help text.
    pub(crate) fn placeholder(self) -> &'static str {
        match self {
            Self::Path => "DIR",
            Self::Url => "URL",
            Self::Address => "ADDRESS",
            Self::Count => "N",
            Self::Duration | Self::Period => "TIME",
            Self::Store => "STORE",
            Self::Switch => "BOOL",
            Self::Word(_) | Self::Text => "WORD",
            Self::Words(_) => "WORDS",
            Self::Hosts => "HOSTS",
            Self::Networks => "NETWORKS",
            Self::Directories => "DIRS",
            Self::Secret => "TOKEN",
        }
    }

    /// What is wrong with a value, and what would be right.
    pub(crate) fn fault(self, value: &str) -> Option<String> {
        let wrong = |is_right: bool, expected: &str| (!is_right).then(|| expected.to_owned());
        match self {
            Self::Path | Self::Text | Self::Secret => {
                wrong(!value.is_empty(), "it must not be empty")
            }
            Self::Url => {
                let is_url = value.starts_with("http://") || value.starts_with("https://");
                wrong(is_url, "write a URL such as http://127.0.0.1:8080")
            }
            Self::Address => {
                let is_address = value.parse::<SocketAddr>().is_ok();
                wrong(is_address, "write an address with a port, such as 127.0.0.1:8080")
            }
            Self::Count => {
                let is_count = value.parse::<u32>().is_ok_and(|count| count > 0);
                wrong(is_count, "write a whole number from 1")
            }
            Self::Duration => value.parse::<Interval>().err().map(|error| error.to_string()),
            Self::Period => match value.parse::<Interval>() {
                Ok(period) => wrong(!period.is_zero(), "it must be longer than nothing"),
                Err(error) => Some(error.to_string()),
            },
            Self::Store => value.parse::<StorePlace>().err().map(str::to_owned),
            Self::Switch => wrong(matches!(value, "true" | "false"), "write true or false"),
            Self::Word(words) => {
                wrong(words.contains(&value), &format!("write one of {}", words.join(", ")))
            }
            Self::Words(words) => each(value, |item| {
                wrong(words.contains(&item), &format!("write some of {}", words.join(", ")))
            }),
            Self::Hosts => {
                each(value, |item| item.parse::<HostPattern>().err().map(|error| error.to_string()))
            }
            Self::Networks => {
                each(value, |item| item.parse::<Cidr>().err().map(|error| error.to_string()))
            }
            Self::Directories => each(value, |item| {
                wrong(Path::new(item).is_absolute(), "write whole paths, such as /srv/incoming")
            }),
        }
    }
}

fn each(value: &str, fault: impl Fn(&str) -> Option<String>) -> Option<String> {
    items(value).find_map(fault)
}

/// The items of a list.
pub(crate) fn items(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_its_key_with_dashes_and_every_default_is_valid() {
        for setting in &SETTINGS {
            assert_eq!(setting.flag, setting.key.replace('_', "-"));
            let fault = setting.default.and_then(|default| setting.kind.fault(default));
            assert_eq!(fault, None, "{}", setting.key);
        }
    }
}
