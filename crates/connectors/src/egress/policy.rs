//! Where calls may go: the rules, and the check that needs no network.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;

use super::address::{Cidr, inside};

/// The longest URL that is called.
const URL_MAX: usize = 2_048;

/// Where calls may go, and how long they may take. The default allows no host at all.
#[derive(Debug, Clone)]
pub struct Policy {
    /// hosts that may be called
    pub allow_hosts: Vec<HostPattern>,
    /// whether plain `http` is allowed beside `https`
    pub allow_http: bool,
    /// inside ranges that may be called nevertheless: an intranet, a test
    pub allow_private: Vec<Cidr>,
    /// never called, whatever else is allowed: our own database, broker and metadata addresses
    pub deny: Vec<Cidr>,
    /// ports that may be called
    pub ports: Vec<u16>,
    /// for the connection and the TLS handshake
    pub connect_timeout: Duration,
    /// for the whole call
    pub total_timeout: Duration,
    /// bytes of an answer that are read; the rest is left unread
    pub answer_max: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            allow_hosts: Vec::new(),
            allow_http: false,
            allow_private: Vec::new(),
            deny: Vec::new(),
            ports: vec![443],
            connect_timeout: Duration::from_secs(3),
            total_timeout: Duration::from_secs(10),
            answer_max: 1024 * 1024,
        }
    }
}

/// A host that may be called: `hooks.example.com`, `*.example.com` (subdomains only), or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    /// Any host.
    Any,
    /// This host alone.
    Exact(String),
    /// Every host below this one.
    Below(String),
}

impl HostPattern {
    fn matches(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(name) => host == name,
            Self::Below(parent) => host
                .strip_suffix(parent.as_str())
                .and_then(|rest| rest.strip_suffix('.'))
                .is_some_and(|label| !label.is_empty()),
        }
    }
}

impl FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(text: &str) -> Result<Self, HostPatternError> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let (name, is_parent) = text.strip_prefix("*.").map_or((text, false), |it| (it, true));
        // The URL parser folds case, IDNA and numeric forms, so that pattern and URL compare alike.
        let url = Url::parse(&format!("https://{name}/")).ok().filter(|_| is_bare(name));
        let host = url.as_ref().and_then(Url::host_str);
        let host = host.ok_or_else(|| HostPatternError { text: text.to_owned() })?;
        let host = host.trim_end_matches('.').to_owned();
        Ok(if is_parent { Self::Below(host) } else { Self::Exact(host) })
    }
}

/// Whether a text is a host alone: no scheme, user, port or path, and no second star.
fn is_bare(name: &str) -> bool {
    let is_ipv6 = name.starts_with('[') && name.ends_with(']');
    let is_foreign = |c: char| "/\\@?#*".contains(c) || c.is_whitespace() || (c == ':' && !is_ipv6);
    !name.contains(is_foreign)
}

/// A text that names no host.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' names no host; write hooks.example.com, *.example.com or *")]
pub struct HostPatternError {
    text: String,
}

/// Why a URL is not called, with what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is no absolute URL.
    #[error("'{url}' is no URL ({problem}); write https://host/path")]
    Unreadable {
        /// as given, shortened
        url: String,
        /// what the parser says
        problem: String,
    },
    /// The scheme is not allowed.
    #[error("scheme '{scheme}' is not allowed; use https")]
    Scheme {
        /// as given
        scheme: String,
    },
    /// It carries a user name or password.
    #[error("a URL to call must not carry a user name or password; remove what stands before '@'")]
    UserInfo,
    /// The port is not on the list.
    #[error("port {port} is not allowed; use an allowed port, or ask the platform to allow it")]
    Port {
        /// as given, or the scheme's own
        port: u16,
    },
    /// The host is not on the list.
    #[error("host '{host}' is not allowed; ask an administrator to allow it")]
    Host {
        /// in its normal form
        host: String,
    },
    /// The host is, or its name resolves to, an address that is not outside.
    #[error("'{host}' is the address {address} ({kind}), which may not be called from here")]
    Address {
        /// in its normal form
        host: String,
        /// one of its addresses
        address: IpAddr,
        /// what kind of address that is
        kind: &'static str,
    },
}

impl Policy {
    /// Judges a URL without touching the network; answers it in its normal form.
    ///
    /// Literal addresses are judged here because no resolver will ever see them.
    pub(super) fn check(&self, text: &str) -> Result<Url, Refusal> {
        let mut url = parse(text)?;
        self.check_scheme(&url)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::UserInfo);
        }
        let host = normal_host(&url).ok_or_else(|| unreadable(text, "it names no host"))?;
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
        if let Some(address) = literal.or_else(|| loopback_name(&host)) {
            self.check_address(&host, address)?;
        }
        if !self.allow_hosts.iter().any(|pattern| pattern.matches(&host)) {
            return Err(Refusal::Host { host });
        }
        let port = url.port_or_known_default().unwrap_or(0);
        if !self.ports.contains(&port) {
            return Err(Refusal::Port { port });
        }
        url.set_host(Some(&host)).map_err(|error| unreadable(text, &error.to_string()))?;
        url.set_fragment(None);
        Ok(url)
    }

    /// Judges an address that a host is or resolves to.
    pub(super) fn check_address(&self, host: &str, address: IpAddr) -> Result<(), Refusal> {
        let refuse = |kind| Err(Refusal::Address { host: host.to_owned(), address, kind });
        if self.deny.iter().any(|range| range.contains(address)) {
            return refuse("denied by the platform");
        }
        match inside(address) {
            Some(kind) if !self.allow_private.iter().any(|range| range.contains(address)) => {
                refuse(kind)
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check_scheme(&self, url: &Url) -> Result<(), Refusal> {
        match url.scheme() {
            "https" => Ok(()),
            "http" if self.allow_http => Ok(()),
            scheme => Err(Refusal::Scheme { scheme: scheme.to_owned() }),
        }
    }
}

fn parse(text: &str) -> Result<Url, Refusal> {
    if text.len() > URL_MAX {
        return Err(unreadable(text, &format!("it is longer than {URL_MAX} bytes")));
    }
    // The parser drops tabs and line breaks silently, and what follows a backslash moves; whoever
    // reads such a URL in a list of allowed ones would not see where it really goes.
    if text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(unreadable(text, "it holds a space, a control character or a backslash"));
    }
    Url::parse(text).map_err(|error| unreadable(text, &error.to_string()))
}

fn unreadable(text: &str, problem: &str) -> Refusal {
    const SHOWN_MAX: usize = 100;
    let url = text.chars().take(SHOWN_MAX).flat_map(char::escape_debug).collect();
    Refusal::Unreadable { url, problem: problem.to_owned() }
}

/// The host without the dot that ends a fully qualified name.
fn normal_host(url: &Url) -> Option<String> {
    let host = url.host_str()?.trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_owned())
}

/// Names that mean this machine whatever a resolver says.
fn loopback_name(host: &str) -> Option<IpAddr> {
    let is_loopback = host == "localhost" || host.ends_with(".localhost");
    is_loopback.then_some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST))
}
