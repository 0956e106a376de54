//! By which names the server may be called.
//!
//! A web page may point a name of its own at 127.0.0.1 and so make a browser on this machine talk to
//! us as if we belonged to the page. A server on the loopback interface therefore answers only to
//! names that mean this machine.

use axum::extract::Request;
use axum::http::header::HOST;

use crate::error::{ApiError, Code};

/// The names that a server may be called by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// any: for a server that is reachable from elsewhere anyway
    Any,
    /// `localhost`, `127.0.0.1`, `[::1]`, and these
    LoopbackAnd(Vec<String>),
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Hosts {
    /// Refuses a request that was sent to another name.
    pub(crate) fn check(&self, request: &Request) -> Result<(), ApiError> {
        let Self::LoopbackAnd(others) = self else { return Ok(()) };
        let header = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        let host = header.or(request.uri().authority().map(|it| it.as_str())).map(without_port);
        let is_ours = host.is_some_and(|host| {
            LOOPBACK
                .into_iter()
                .chain(others.iter().map(String::as_str))
                .any(|ours| ours.eq_ignore_ascii_case(host))
        });
        if is_ours {
            return Ok(());
        }
        Err(ApiError::new(Code::HostNotAllowed, "this server is not called by that host name"))
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: &str, is_allowed: bool) {
        let hosts = Hosts::LoopbackAnd(vec!["stepwell.example".to_owned()]);
        let request = Request::builder().uri("/livez").header(HOST, host);
        let request = request.body(axum::body::Body::empty()).unwrap();
        assert_eq!(hosts.check(&request).is_ok(), is_allowed, "{host}");
    }

    #[test]
    fn a_loopback_server_answers_to_its_own_names_only() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080", "[::1]"] {
            check(host, true);
        }
        check("stepwell.example:443", true);
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", ""] {
            check(host, false);
        }
    }
}
