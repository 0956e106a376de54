//! `stepwell auth`: sign in to a server, see as whom, sign out.

use std::io::Read;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::client::Api;
use crate::config::{ClientFlags, Config, Credentials, LoginFlags, Surroundings};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::{Global, Session};

/// What to do about signing in.
#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Sign in: keep an access token for a server, so that no command needs to be told it
    ///
    /// The token is checked against the server, then kept in the XDG configuration directory in a
    /// file that nobody else can read, and sent to this server only.
    Login(LoginArguments),
    /// Show which server is talked to, where the token comes from, and whether it is accepted
    Status(ClientFlags),
    /// Sign out: forget the token that is kept for a server
    Logout(ClientFlags),
}

/// What `auth login` is told.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  stepwell auth login --server https://stepwell.example.com \
    --token-stdin < token.txt")]
pub(crate) struct LoginArguments {
    /// Read an access token from standard input
    #[arg(long)]
    token_stdin: bool,
    #[command(flatten)]
    flags: LoginFlags,
}

/// Settings without which nobody can be sent to an identity provider.
const PROVIDER: [&str; 2] = ["tenant_id", "client_id"];

pub(crate) async fn run(global: Global, command: AuthCommand) -> Result<Exit, Failure> {
    match command {
        AuthCommand::Login(LoginArguments { token_stdin, flags }) => {
            let session = global.session(flags.0)?;
            if token_stdin { keep(&session).await } else { login(&session).await }
        }
        AuthCommand::Status(client) => status(&global.session(client.0)?).await,
        AuthCommand::Logout(client) => logout(&global.session(client.0)?),
    }
}

/// Keeps the token that stands on standard input, if the server accepts it.
async fn keep(session: &Session) -> Result<Exit, Failure> {
    let mut token = String::new();
    std::io::stdin().read_to_string(&mut token).map_err(|cause| {
        Failure::new(Exit::Failure, "file", format!("standard input could not be read: {cause}"))
    })?;
    let token = token.trim().to_owned();
    if token.is_empty() {
        return Err(Failure::usage("there is no token on standard input")
            .next("an admin makes one with `stepwell token create`"));
    }
    let server = session.config.text("server");
    accepts(&Api::at(server, &token)?).await.map_err(|failure| {
        failure.suggesting(Exit::Denied, "nothing was kept; ask an admin for another token")
    })?;
    let mut credentials = Credentials::read(&Surroundings::of_process())?;
    credentials.keep(server, token)?;
    let place = credentials.path.display().to_string();
    let answer = json!({ "server": server, "kept_in": place });
    session.print.answer(&answer, |_| {
        session.print.line(&format!("signed in to {server}; the token is kept in {place}"));
    });
    Ok(Exit::Ok)
}

/// Signs in without a token at hand: with the one that is kept, or else through a provider.
async fn login(session: &Session) -> Result<Exit, Failure> {
    let server = session.config.text("server");
    if session.config.get("token").is_some() && accepts(&session.api()?).await.is_ok() {
        let origin = origin(&session.config);
        let answer = json!({ "server": server, "token_from": origin });
        session.print.answer(&answer, |_| {
            session.print.line(&format!("signed in to {server} already, by {origin}"));
        });
        return Ok(Exit::Ok);
    }
    let missing: Vec<&str> =
        PROVIDER.into_iter().filter(|key| session.config.get(key).is_none()).collect();
    if missing.is_empty() {
        let what = "this release cannot send you to an identity provider";
        return Err(Failure::new(Exit::Refused, "no_provider", what)
            .next("sign in with a token of the server: `stepwell auth login --token-stdin`"));
    }
    let what =
        format!("to sign in through an identity provider, {} must be set", missing.join(" and "));
    Err(Failure::usage(what).next(
        "set them with `stepwell config set`, or sign in with a token of the server: \
         `stepwell auth login --token-stdin`",
    ))
}

async fn status(session: &Session) -> Result<Exit, Failure> {
    let server = session.config.text("server");
    let outcome = accepts(&session.api()?).await;
    let accepted = outcome.is_ok();
    let (from, server_from) = (origin(&session.config), said_by(&session.config, "server"));
    let answer = json!({
        "server": server, "server_from": server_from, "token_from": from, "accepted": accepted,
    });
    session.print.answer(&answer, |answer| {
        let fields =
            [("server", "server"), ("set by", "server_from"), ("token from", "token_from")];
        session.print.object(answer, &fields);
        if accepted {
            session.print.line("the server accepts the token");
        }
    });
    outcome.map(|()| Exit::Ok)
}

fn logout(session: &Session) -> Result<Exit, Failure> {
    let server = session.config.text("server");
    let mut credentials = Credentials::read(&Surroundings::of_process())?;
    let forgotten = credentials.forget(server)?;
    let answer = json!({ "server": server, "forgotten": forgotten });
    session.print.answer(&answer, |_| {
        session.print.line(&match forgotten {
            true => format!("signed out of {server}; the token itself is still valid"),
            false => format!("no token was kept for {server}"),
        });
    });
    Ok(Exit::Ok)
}

/// Whether the server knows the token. What every token may read says so.
async fn accepts(api: &Api) -> Result<(), Failure> {
    let answer: Result<Value, Failure> = api.get(&["api", "runbooks"], &[]).await;
    match answer {
        Err(failure) if failure.code == "forbidden" => Ok(()),
        other => other.map(drop),
    }
}

fn origin(config: &Config) -> String {
    said_by(config, "token")
}

fn said_by(config: &Config, key: &str) -> String {
    config.origin(key).map(ToString::to_string).unwrap_or_default()
}
