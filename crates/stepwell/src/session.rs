//! What every command is given: the settings and the printer.

use std::path::PathBuf;

use serde_json::Value;

use crate::client::Api;
use crate::config::{ClientFlags, Config, Given, Surroundings};
use crate::failure::Failure;
use crate::print::Printer;

/// What every command is given.
#[derive(Debug)]
pub(crate) struct Session {
    /// effective settings
    pub(crate) config: Config,
    /// where results go
    pub(crate) print: Printer,
}

/// What stands on the command line whatever the command is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Global {
    /// settings for every command
    pub(crate) given: Given,
    /// the configuration file that was named
    pub(crate) file: Option<PathBuf>,
}

impl Global {
    /// Reads the configuration with the flags of a command on top of it.
    pub(crate) fn session(self, flags: Given) -> Result<Session, Failure> {
        let given = self.given.and(flags);
        let config = Config::resolve(&given, self.file.as_deref(), &Surroundings::of_process())?;
        let print = Printer::new(config.text("output") == "json");
        Ok(Session { config, print })
    }

    /// The same, with a connection to the server.
    pub(crate) fn connected(self, client: ClientFlags) -> Result<(Session, Api), Failure> {
        let session = self.session(client.0)?;
        let api = session.api()?;
        Ok((session, api))
    }

    /// Reads one thing from the server.
    pub(crate) async fn get(
        self,
        client: ClientFlags,
        path: &[&str],
    ) -> Result<(Printer, Value), Failure> {
        let (session, api) = self.connected(client)?;
        Ok((session.print, api.get(path, &[]).await?))
    }

    /// Asks the server for one change.
    pub(crate) async fn post(
        self,
        client: ClientFlags,
        path: &[&str],
        body: &Value,
    ) -> Result<(Printer, Value), Failure> {
        let (session, api) = self.connected(client)?;
        Ok((session.print, api.post(path, body).await?))
    }
}

impl Session {
    /// A connection to the server.
    pub(crate) fn api(&self) -> Result<Api, Failure> {
        Api::new(&self.config)
    }
}
