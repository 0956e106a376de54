//! Fills the table in: flag, then environment, then file, then default.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use stepwell_core::duration::Interval;

use super::credentials::Credentials;
use super::file::File;
use super::flags::Given;
use super::place::StorePlace;
use super::predecessor::Predecessor;
use super::table::{SETTINGS, Setting, items};
use crate::failure::Failure;

/// The name of the configuration file.
const FILE: &str = "stepwell.toml";
/// The name of the file in the data directory that holds the first admin token.
pub(crate) const TOKEN_FILE: &str = "admin-token";

/// So many signs of life fit at least into the silence after which a server counts as dead.
const SIGNS_OF_LIFE: u64 = 3;

/// What the process was started with, handed in so that a test can say it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// environment variables
    pub(crate) variables: BTreeMap<String, String>,
    /// where the process stands
    pub(crate) directory: PathBuf,
}

/// Effective settings, each with its origin.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    values: BTreeMap<&'static str, Value>,
}

/// An effective value.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// as text; lists with commas
    pub(crate) text: Option<String>,
    /// who said so
    pub(crate) origin: Origin,
}

/// Who said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// a flag
    Flag(String),
    /// an environment variable
    Environment(String),
    /// a line of a file
    File(PathBuf, usize),
    /// a file that holds tokens: the server wrote it at its first start, or `auth login` did
    TokenFile(PathBuf),
    /// the file of the tool that was there before
    Predecessor(PathBuf),
    /// nobody
    Default,
}

impl Surroundings {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        Self {
            variables: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
            directory: std::env::current_dir().unwrap_or_default(),
        }
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A directory of the XDG base directory specification.
    fn xdg(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        // The specification says that a relative path is to be ignored.
        let given = self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        given.or_else(|| Some(Path::new(self.variable("HOME")?).join(below_home)))
    }

    fn data(&self) -> PathBuf {
        match self.xdg("XDG_DATA_HOME", ".local/share") {
            Some(data) => data.join("stepwell"),
            None => PathBuf::from("stepwell-data"),
        }
    }

    /// Where the person at the keyboard is at home.
    pub(super) fn home(&self) -> Option<&Path> {
        self.variable("HOME").map(Path::new)
    }

    /// Where configuration belongs.
    pub(super) fn config_directory(&self) -> PathBuf {
        match self.xdg("XDG_CONFIG_HOME", ".config") {
            Some(config) => config.join("stepwell"),
            None => self.directory.clone(),
        }
    }

    /// The configuration file that counts, whether it exists or not: the one that is named, else the
    /// one here, else the one in the XDG directory.
    pub(crate) fn file_path(&self, named: Option<&Path>) -> PathBuf {
        let named = named.map(Path::to_owned);
        if let Some(path) = named.or_else(|| self.variable("STEPWELL_CONFIG").map(PathBuf::from)) {
            return self.directory.join(path);
        }
        let here = self.directory.join(FILE);
        if here.is_file() { here } else { self.config_directory().join(FILE) }
    }

    fn file(&self, named: Option<&Path>) -> Result<Option<File>, Failure> {
        let path = self.file_path(named);
        let must_exist = named.is_some() || self.variable("STEPWELL_CONFIG").is_some();
        if !must_exist && !path.is_file() {
            return Ok(None);
        }
        File::read(&path).map(Some)
    }
}

impl Config {
    /// Fills the table in.
    pub(crate) fn resolve(
        given: &Given,
        file: Option<&Path>,
        surroundings: &Surroundings,
    ) -> Result<Self, Failure> {
        let file = surroundings.file(file)?;
        let predecessor = Predecessor::read(surroundings)?;
        let files = (file.as_ref(), &predecessor);
        let mut values = BTreeMap::new();
        for setting in &SETTINGS {
            let value = effective(setting, given, files, surroundings);
            check(setting, &value)?;
            values.insert(setting.key, value);
        }
        let mut config = Self { values };
        config.check_silence()?;
        config.look_for_token(surroundings)?;
        Ok(config)
    }

    /// Settings in the order of the table.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static Setting, &Value)> {
        SETTINGS.iter().map(|setting| (setting, &self.values[setting.key]))
    }

    /// The value of a setting, if it has one.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key)?.text.as_deref()
    }

    /// The value of a setting that always has one.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.get(key).expect("the table gives this setting a default")
    }

    /// Whether a switch is on.
    pub(crate) fn is_on(&self, key: &str) -> bool {
        self.get(key) == Some("true")
    }

    /// The items of a list, as what they are.
    pub(crate) fn list<T: std::str::FromStr>(&self, key: &str) -> Vec<T> {
        items(self.text(key)).filter_map(|item| item.parse().ok()).collect()
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        PathBuf::from(self.text("data"))
    }

    /// A period, or another setting that has a type of its own and always a value.
    pub(crate) fn parsed<T: std::str::FromStr>(&self, key: &str) -> T {
        let value = self.text(key).parse().ok();
        value.expect("settings are checked when they are read")
    }

    /// Where everything is kept.
    pub(crate) fn store(&self) -> StorePlace {
        match self.get("store") {
            Some(_) => self.parsed("store"),
            None => StorePlace::Sqlite(self.data().join("stepwell.db")),
        }
    }

    /// One lost sign of life is no death.
    fn check_silence(&self) -> Result<(), Failure> {
        let heartbeat: Interval = self.parsed("heartbeat_interval");
        let threshold: Interval = self.parsed("orphan_threshold");
        if threshold >= heartbeat.saturating_mul(SIGNS_OF_LIFE) {
            return Ok(());
        }
        let origin = |key: &str| &self.values[key].origin;
        let what = format!(
            "orphan_threshold {threshold} (from {}) is less than {SIGNS_OF_LIFE} times \
             heartbeat_interval {heartbeat} (from {}): a server would lose its jobs for a single sign \
             of life that came late",
            origin("orphan_threshold"),
            origin("heartbeat_interval"),
        );
        Err(Failure::usage(what).next(format!(
            "let orphan_threshold be at least {}, or shorten heartbeat_interval",
            heartbeat.saturating_mul(SIGNS_OF_LIFE)
        )))
    }

    /// Without a token that was said, the one counts that `auth login` stored for this server. The
    /// server wrote its first token beside its data; on its own machine that is enough.
    fn look_for_token(&mut self, surroundings: &Surroundings) -> Result<(), Failure> {
        if self.get("token").is_some() {
            return Ok(());
        }
        let credentials = Credentials::read(surroundings)?;
        let (token, path) = match credentials.token(self.text("server")) {
            Some(token) => (token.to_owned(), credentials.path),
            None if is_local(self.text("server")) => {
                let path = self.data().join(TOKEN_FILE);
                let Ok(token) = std::fs::read_to_string(&path) else { return Ok(()) };
                (token.trim().to_owned(), path)
            }
            None => return Ok(()),
        };
        let value = Value { text: Some(token), origin: Origin::TokenFile(path) };
        self.values.insert("token", value);
        Ok(())
    }

    /// Who said what a setting is.
    pub(crate) fn origin(&self, key: &str) -> Option<&Origin> {
        self.values.get(key).map(|value| &value.origin)
    }
}

fn effective(
    setting: &'static Setting,
    given: &Given,
    (file, predecessor): (Option<&File>, &Predecessor),
    surroundings: &Surroundings,
) -> Value {
    let value = |text: &str, origin| Value { text: Some(text.to_owned()), origin };
    if let Some(text) = given.0.get(setting.key) {
        return value(text, Origin::Flag(format!("--{}", setting.flag)));
    }
    let variable = setting.variable();
    if let Some(text) = surroundings.variable(&variable) {
        return value(text, Origin::Environment(variable));
    }
    if let Some(alias) = setting.alias()
        && let Some(text) = surroundings.variable(alias.variable)
    {
        return value(&alias.value(text), Origin::Environment(alias.variable.to_owned()));
    }
    if let Some(file) = file
        && let Some((text, line)) = file.values.get(setting.key)
    {
        return value(text, Origin::File(file.path.clone(), *line));
    }
    if let Some(text) = predecessor.values.get(setting.key) {
        return value(text, Origin::Predecessor(predecessor.path.clone()));
    }
    let text = match setting.key {
        "data" => Some(surroundings.data().display().to_string()),
        _ => setting.default.map(str::to_owned),
    };
    Value { text, origin: Origin::Default }
}

fn check(setting: &Setting, value: &Value) -> Result<(), Failure> {
    let Some(text) = &value.text else { return Ok(()) };
    let Some(fault) = setting.kind.fault(text) else { return Ok(()) };
    let shown = setting.shown(text);
    Err(Failure::usage(format!("{} {shown:?} is not valid", value.origin)).next(fault))
}

fn is_local(server: &str) -> bool {
    let host = server.split("://").nth(1).unwrap_or_default();
    ["127.", "localhost", "[::1]"].iter().any(|local| host.starts_with(local))
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(flag),
            Self::Environment(variable) => f.write_str(variable),
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::TokenFile(path) | Self::Predecessor(path) => write!(f, "{}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn surroundings(directory: &Path) -> Surroundings {
        let home = directory.display().to_string();
        Surroundings {
            variables: BTreeMap::from([("HOME".to_owned(), home)]),
            directory: directory.to_owned(),
        }
    }

    #[track_caller]
    fn check(key: &str, given: &Given, surroundings: &Surroundings, expected: Expect) {
        let home = surroundings.directory.display().to_string();
        expected.assert_eq(&match Config::resolve(given, None, surroundings) {
            Ok(config) => {
                let value = &config.values[key];
                let text = value.text.as_deref().unwrap_or("nothing");
                format!("{text} from {}", value.origin).replace(&home, "~")
            }
            Err(failure) => failure.to_string(),
        });
    }

    #[test]
    fn a_flag_goes_before_the_environment_before_the_file_before_the_default() {
        let directory = tempfile::tempdir().unwrap();
        let mut surroundings = surroundings(directory.path());
        let nothing = Given::default();
        check("tenant_cap", &nothing, &surroundings, expect!["100 from default"]);
        std::fs::write(directory.path().join(FILE), "\ntenant_cap = 7\n").unwrap();
        check("tenant_cap", &nothing, &surroundings, expect!["7 from ~/stepwell.toml:2"]);
        surroundings.variables.insert("STEPWELL_TENANT_CAP".to_owned(), "8".to_owned());
        check("tenant_cap", &nothing, &surroundings, expect!["8 from STEPWELL_TENANT_CAP"]);
        let given = Given(BTreeMap::from([("tenant_cap", "9".to_owned())]));
        check("tenant_cap", &given, &surroundings, expect!["9 from --tenant-cap"]);
    }

    #[test]
    fn data_lies_in_the_xdg_directory_unless_told_otherwise() {
        let directory = tempfile::tempdir().unwrap();
        let mut surroundings = surroundings(directory.path());
        let nothing = Given::default();
        check("data", &nothing, &surroundings, expect!["~/.local/share/stepwell from default"]);
        surroundings.variables.insert("XDG_DATA_HOME".to_owned(), "/var/xdg".to_owned());
        check("data", &nothing, &surroundings, expect!["/var/xdg/stepwell from default"]);
    }

    #[test]
    fn a_value_that_makes_no_sense_is_refused_with_its_origin_and_what_would() {
        let directory = tempfile::tempdir().unwrap();
        let mut surroundings = surroundings(directory.path());
        surroundings.variables.insert("STEPWELL_LISTEN".to_owned(), "8080".to_owned());
        let refusal = expect![[r#"
            error: STEPWELL_LISTEN "8080" is not valid
              next: write an address with a port, such as 127.0.0.1:8080"#]];
        check("listen", &Given::default(), &surroundings, refusal);
    }

    // B-067: the variables of the seed, counted in seconds, with its defaults.
    #[test]
    fn variables_that_an_estate_already_has_are_honored() {
        let directory = tempfile::tempdir().unwrap();
        let mut surroundings = surroundings(directory.path());
        let nothing = Given::default();
        check("heartbeat_interval", &nothing, &surroundings, expect!["30s from default"]);
        check("orphan_threshold", &nothing, &surroundings, expect!["120s from default"]);
        check("orphan_scan_interval", &nothing, &surroundings, expect!["60s from default"]);
        check("job_queue_name", &nothing, &surroundings, expect!["dag-jobs from default"]);
        for (variable, value) in [
            ("HEARTBEAT_INTERVAL_SEC", "3"),
            ("ORPHAN_THRESHOLD_SEC", "10"),
            ("ORPHAN_SCAN_INTERVAL_SEC", "5"),
            ("JOB_QUEUE_NAME", "7"),
        ] {
            surroundings.variables.insert(variable.to_owned(), value.to_owned());
        }
        let seed = &surroundings;
        check("heartbeat_interval", &nothing, seed, expect!["3s from HEARTBEAT_INTERVAL_SEC"]);
        check("orphan_threshold", &nothing, seed, expect!["10s from ORPHAN_THRESHOLD_SEC"]);
        check("orphan_scan_interval", &nothing, seed, expect!["5s from ORPHAN_SCAN_INTERVAL_SEC"]);
        check("job_queue_name", &nothing, seed, expect!["7 from JOB_QUEUE_NAME"]);
        surroundings.variables.insert("STEPWELL_HEARTBEAT_INTERVAL".to_owned(), "500ms".to_owned());
        let own = expect!["500ms from STEPWELL_HEARTBEAT_INTERVAL"];
        check("heartbeat_interval", &nothing, &surroundings, own);
    }

    // B-067: a threshold that a single late sign of life would pass is refused.
    #[test]
    fn a_silence_shorter_than_three_signs_of_life_is_refused_with_both_origins() {
        let directory = tempfile::tempdir().unwrap();
        let mut surroundings = surroundings(directory.path());
        surroundings.variables.insert("ORPHAN_THRESHOLD_SEC".to_owned(), "89".to_owned());
        let refusal = expect![[r#"
            error: orphan_threshold 89s (from ORPHAN_THRESHOLD_SEC) is less than 3 times heartbeat_interval 30s (from default): a server would lose its jobs for a single sign of life that came late
              next: let orphan_threshold be at least 90s, or shorten heartbeat_interval"#]];
        check("orphan_threshold", &Given::default(), &surroundings, refusal);
        surroundings.variables.insert("ORPHAN_THRESHOLD_SEC".to_owned(), "90".to_owned());
        let enough = expect!["90s from ORPHAN_THRESHOLD_SEC"];
        check("orphan_threshold", &Given::default(), &surroundings, enough);
        surroundings.variables.insert("HEARTBEAT_INTERVAL_SEC".to_owned(), "0".to_owned());
        let refusal = expect![[r#"
            error: HEARTBEAT_INTERVAL_SEC "0s" is not valid
              next: it must be longer than nothing"#]];
        check("heartbeat_interval", &Given::default(), &surroundings, refusal);
    }

    #[test]
    fn a_store_that_cannot_be_understood_is_refused_without_being_shown() {
        let directory = tempfile::tempdir().unwrap();
        let mut surroundings = surroundings(directory.path());
        let wrong = "postgers://me:secret@h/d".to_owned();
        surroundings.variables.insert("STEPWELL_STORE".to_owned(), wrong);
        let refusal = expect![[r#"
            error: STEPWELL_STORE "(set, not shown)" is not valid
              next: write sqlite:FILE, or a URL such as postgres://user:password@host:5432/database"#]];
        check("store", &Given::default(), &surroundings, refusal);
    }

    #[test]
    fn the_token_that_the_server_wrote_is_used_on_its_own_machine_only() {
        let directory = tempfile::tempdir().unwrap();
        let mut surroundings = surroundings(directory.path());
        let data = directory.path().display().to_string();
        surroundings.variables.insert("STEPWELL_DATA".to_owned(), data);
        std::fs::write(directory.path().join(TOKEN_FILE), "swl_x\n").unwrap();
        let nothing = Given::default();
        check("token", &nothing, &surroundings, expect!["swl_x from ~/admin-token"]);
        let elsewhere = Given(BTreeMap::from([("server", "https://example.com".to_owned())]));
        check("token", &elsewhere, &surroundings, expect!["nothing from default"]);
    }
}
