//! Where a store is, and how that is said without giving a password away.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a store is. Neither its text nor its debug text holds a password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum StorePlace {
    /// a file of SQLite
    Sqlite(PathBuf),
    /// the URL of a database of PostgreSQL, with its password
    Postgres(String),
}

/// What a place looks like.
const EXAMPLES: &str =
    "write sqlite:FILE, or a URL such as postgres://user:password@host:5432/database";

impl FromStr for StorePlace {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("sqlite", path)) => {
                let path = path.strip_prefix("//").unwrap_or(path);
                if path.is_empty() { Err(EXAMPLES) } else { Ok(Self::Sqlite(PathBuf::from(path))) }
            }
            Some(("postgres" | "postgresql", rest)) if rest.len() > 2 && rest.starts_with("//") => {
                Ok(Self::Postgres(text.to_owned()))
            }
            _ => Err(EXAMPLES),
        }
    }
}

impl fmt::Display for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(url) => f.write_str(&redacted(url)),
        }
    }
}

impl fmt::Debug for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The URL with stars for everything that may be a password. In doubt it hides too much.
fn redacted(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    // The last one: whoever forgot to encode an at-sign in the password shall not see it printed.
    let (account, rest) = match rest.rsplit_once('@') {
        Some((account, rest)) => (Some(account), rest),
        None => (None, rest),
    };
    let account = account.map(|account| match account.split_once(':') {
        Some((user, _)) => format!("{user}:***@"),
        None => format!("{account}@"),
    });
    let (rest, parameters) = rest.split_once('?').map_or((rest, ""), |(rest, it)| (rest, it));
    let parameters = parameters.split('&').map(|parameter| match parameter.split_once('=') {
        Some((name, _)) if name.to_ascii_lowercase().contains("password") => format!("{name}=***"),
        _ => parameter.to_owned(),
    });
    let parameters = parameters.collect::<Vec<_>>().join("&");
    let mark = if parameters.is_empty() { "" } else { "?" };
    format!("{scheme}://{}{rest}{mark}{parameters}", account.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, shown: &str) {
        let place: StorePlace = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(place.to_string(), shown);
        assert_eq!(format!("{place:?}"), shown);
    }

    #[test]
    fn a_place_is_shown_without_its_password() {
        check("sqlite:/var/lib/stepwell.db", "sqlite:/var/lib/stepwell.db");
        check("sqlite:///var/lib/stepwell.db", "sqlite:/var/lib/stepwell.db");
        check("postgres://h/d", "postgres://h/d");
        check("postgres://me@h:5432/d?sslmode=require", "postgres://me@h:5432/d?sslmode=require");
        check("postgres://me:secret@h:5432/d", "postgres://me:***@h:5432/d");
        check("postgresql://me:s@cr/e:t?@h/d", "postgresql://me:***@h/d");
        check("postgres://h/d?user=me&password=secret", "postgres://h/d?user=me&password=***");
        check("postgres://h/d?sslPassword=secret&a=b", "postgres://h/d?sslPassword=***&a=b");
    }

    #[test]
    fn what_is_no_place_is_refused_with_what_would_be_one() {
        for text in ["", "stepwell.db", "sqlite:", "mysql://h/d", "postgres:h/d", "postgres://"] {
            assert_eq!(text.parse::<StorePlace>(), Err(EXAMPLES), "{text}");
        }
    }
}
