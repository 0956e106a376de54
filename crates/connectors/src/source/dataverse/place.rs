//! Where the server is and who asks: an ADO.NET connection string, as far as it says that.

use std::collections::BTreeMap;

const PORT: u16 = 1433;

/// Where the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) database: Option<String>,
    /// whether encryption begins before the first word of the protocol
    pub(super) is_strict: bool,
    /// a file of certificates that are trusted beside those that the machine trusts
    pub(super) authorities: Option<String>,
}

impl Place {
    /// Whether a host belongs to the same domain, so that a token for the one may go to the other.
    pub(super) fn leads_to(&self, host: &str) -> bool {
        let Some((_, domain)) = self.host.split_once('.') else { return false };
        domain.contains('.') && host.to_ascii_lowercase().ends_with(&format!(".{domain}"))
    }
}

/// Who asks.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Login {
    /// the application of the environment
    Environment,
    /// an application that the string names
    ServicePrincipal { client_id: String, client_secret: String },
    /// a user of the server itself, which Dataverse has not
    Sql { user: String, password: String },
}

/// Reads a connection string.
///
/// # Errors
///
/// Why it cannot be used, in words that repeat none of its values.
pub(super) fn parse(text: &str) -> Result<(Place, Login), String> {
    let mut pairs = pairs(text)?;
    let mut take = |names: &[&str]| names.iter().find_map(|name| pairs.remove(*name));
    let server = take(&["server", "data source", "address", "addr", "network address"]);
    let server = server.ok_or("it names no server; write Server=org.crm.dynamics.com,5558")?;
    let (host, port) = address(&server)?;
    let database = take(&["database", "initial catalog"]).filter(|name| !name.is_empty());
    let is_strict = encryption(take(&["encrypt"]).as_deref())?;
    let trust = take(&["trustservercertificate", "trust server certificate"]);
    if trust.is_some_and(|word| !is_no(&word)) {
        return Err("TrustServerCertificate must be false: the server proves who it is".to_owned());
    }
    let authorities = take(&["trustservercertificateca"]);
    let authentication = take(&["authentication"]);
    let user = take(&["user id", "uid", "user"]);
    let password = take(&["password", "pwd"]);
    let login = login(authentication.as_deref(), user, password)?;
    Ok((Place { host, port, database, is_strict, authorities }, login))
}

fn login(
    authentication: Option<&str>,
    user: Option<String>,
    password: Option<String>,
) -> Result<Login, String> {
    let folded = authentication.map(|word| word.replace(' ', "").to_ascii_lowercase());
    let both = user.zip(password);
    match (folded.as_deref(), both) {
        (Some("activedirectoryserviceprincipal"), Some((client_id, client_secret))) => {
            Ok(Login::ServicePrincipal { client_id, client_secret })
        }
        (Some("activedirectorydefault" | "activedirectoryserviceprincipal") | None, None) => {
            Ok(Login::Environment)
        }
        (Some("activedirectorydefault"), Some(_)) => Ok(Login::Environment),
        (Some("sqlpassword") | None, Some((user, password))) => Ok(Login::Sql { user, password }),
        (Some("sqlpassword"), None) => Err("it needs User ID and Password".to_owned()),
        (Some(_), _) => Err("Authentication must be Active Directory Service Principal or Active \
                             Directory Default: nobody is there to sign in"
            .to_owned()),
    }
}

fn address(server: &str) -> Result<(String, u16), String> {
    let server = server.strip_prefix("tcp:").unwrap_or(server);
    let (host, port) = server.split_once(',').unwrap_or((server, ""));
    let (host, port) = (host.trim(), port.trim());
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if host.is_empty() || !host.chars().all(is_host) {
        return Err("its server is no host; write Server=org.crm.dynamics.com,5558".to_owned());
    }
    let number = if port.is_empty() { Ok(PORT) } else { port.parse() };
    let number = number.map_err(|_| "its port is no number; write Server=host,1433".to_owned())?;
    Ok((host.to_ascii_lowercase(), number))
}

/// Whether encryption is strict; it is never absent.
fn encryption(word: Option<&str>) -> Result<bool, String> {
    match word.map(str::to_ascii_lowercase).as_deref() {
        None | Some("true" | "yes" | "mandatory") => Ok(false),
        Some("strict") => Ok(true),
        Some(_) => Err("Encrypt must be true or strict".to_owned()),
    }
}

fn is_no(word: &str) -> bool {
    word.eq_ignore_ascii_case("false") || word.eq_ignore_ascii_case("no")
}

/// The pairs of the string; names are folded, and a value may stand in quotes or braces.
fn pairs(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut pairs = BTreeMap::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, value) = rest.split_once('=').ok_or("a part of it has no =")?;
        let value = value.trim_start();
        let close = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => Some(quote),
            Some('{') => Some('}'),
            _ => None,
        };
        let (value, after) = match close {
            Some(close) => quoted(&value[1..], close).ok_or("a quotation mark is not closed")?,
            None => {
                let (value, after) = value.split_once(';').unwrap_or((value, ""));
                (value.trim_end().to_owned(), after)
            }
        };
        pairs.insert(name.trim().to_ascii_lowercase(), value);
        rest = after.trim_start_matches([';', ' ', '\t', '\r', '\n']);
    }
    Ok(pairs)
}

/// A value up to the mark that closes it, which is doubled where it belongs to the value.
fn quoted(text: &str, close: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once(close)?;
        value.push_str(before);
        match after.strip_prefix(close) {
            Some(more) => {
                value.push(close);
                rest = more;
            }
            None => return Some((value, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // the connection string of the environment.
    #[test]
    fn a_connection_string_says_where_and_who() {
        let text = "Server=tcp:Org.crm4.dynamics.com,5558;Initial Catalog=org;\
                    Authentication=Active Directory Service Principal;\
                    User ID=app;Password='a;\"b''=c';Encrypt=True;TrustServerCertificate=False;";
        let (place, login) = parse(text).unwrap();
        assert_eq!((place.host.as_str(), place.port), ("org.crm4.dynamics.com", 5558));
        assert_eq!((place.database.as_deref(), place.is_strict), (Some("org"), false));
        let expected = Login::ServicePrincipal {
            client_id: "app".to_owned(),
            client_secret: "a;\"b'=c".to_owned(),
        };
        assert_eq!(login, expected);

        let (place, login) = parse("data source = db.example ; encrypt=strict").unwrap();
        assert_eq!((place.port, place.is_strict, login), (1433, true, Login::Environment));
        let sql = parse("server=db;uid=ada;pwd={x}}y}").unwrap().1;
        assert_eq!(sql, Login::Sql { user: "ada".to_owned(), password: "x}y".to_owned() });
    }

    #[test]
    fn what_would_turn_safety_off_is_refused_without_repeating_it() {
        for (text, why) in [
            ("server=db;password=s3cret;user=a;encrypt=false", "Encrypt must be true"),
            ("server=db;encrypt=optional", "Encrypt must be true"),
            ("server=db;TrustServerCertificate=true;password=s3cret", "must be false"),
            ("server=db;authentication=Active Directory Interactive", "nobody is there"),
            ("server=db;password='s3cret", "not closed"),
            ("server=db,s3cret", "no number"),
            ("server=https://s3cret/", "no host"),
            ("database=s3cret", "names no server"),
            ("s3cret", "has no ="),
        ] {
            let said = parse(text).unwrap_err();
            assert!(said.contains(why) && !said.contains("s3cret"), "{said}");
        }
    }

    #[test]
    fn a_token_follows_only_within_its_domain() {
        let place = parse("server=org.crm.dynamics.com").unwrap().0;
        assert!(place.leads_to("node7.crm.dynamics.com"));
        for host in ["crm.dynamics.com.evil.example", "evilcrm.dynamics.com", "dynamics.com"] {
            assert!(!place.leads_to(host), "{host}");
        }
        assert!(!parse("server=a.com").unwrap().0.leads_to("b.com"));
    }
}
