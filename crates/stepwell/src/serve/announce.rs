//! What a person is told when the server has started.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::json;

use super::Running;
use crate::config::TOKEN_FILE;
use crate::failure::Failure;
use crate::session::Session;

/// Says where the server is, and at the first start how to get in.
pub(super) fn started(session: &Session, running: &Running) -> Result<(), Failure> {
    let (print, url) = (session.print, running.url());
    let data = session.config.data();
    if print.is_json() {
        let file = running.admin_token.as_ref().map(|_| data.join(TOKEN_FILE));
        if let (Some(token), Some(path)) = (&running.admin_token, &file) {
            write_token(path, token)?;
        }
        print.json_line(&json!({
            "event": "listening", "url": url, "data": data, "admin_token_file": file,
        }));
        return Ok(());
    }
    print.note(&format!("stepwell {} listening on {url}", env!("CARGO_PKG_VERSION")));
    print.note(&format!("data in {}", data.display()));
    let Some(token) = &running.admin_token else { return Ok(()) };
    if std::io::stdout().is_terminal() {
        print.note("\nThis is the first start. The admin token, shown this once:\n");
        print.line(&format!("  {token}"));
        print.note("\nKeep it in a safe place; make more with `stepwell token create`. Try:\n");
    } else {
        let path = data.join(TOKEN_FILE);
        write_token(&path, token)?;
        print.note(&format!(
            "this is the first start; the admin token is in {}, readable by you alone",
            path.display()
        ));
    }
    print.note(&format!("  curl -H \"Authorization: Bearer $STEPWELL_TOKEN\" {url}/v1/jobs\n"));
    Ok(())
}

fn write_token(path: &Path, token: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(path).and_then(|mut file| writeln!(file, "{token}"));
    written.map_err(|cause| Failure::file(path, "written", &cause))
}
