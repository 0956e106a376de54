//! Dataverse, through its TDS endpoint.
//!
//! The connection string is the one of ADO.NET, as far as it says where and who. The connection is
//! always encrypted and the server always proves who it is: what would turn that off is refused.

mod place;
mod value;

use futures_util::TryStreamExt;
use tiberius::error::Error;
use tiberius::{AuthMethod, Client, Config, EncryptionLevel, QueryItem};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

use self::place::{Login, Place};
use super::collect::Collector;
use super::entra::{self, Application};
use super::environment::Variables;
use super::error::SourceError;
use super::hidden::Hidden;
use super::web::Web;
use super::{Limits, Rows, Source};
use crate::bus::Answer;

/// What SQL Server says to somebody whom it does not let in: login failed, no such database, no right.
const DENIED: [u32; 5] = [229, 916, 4_060, 18_452, 18_456];

/// An environment of Dataverse, and what it is asked.
pub(super) struct Dataverse {
    place: Place,
    credential: Credential,
    web: Web,
    query: String,
    limits: Limits,
    /// what to look at if nobody is let in
    looked_at: String,
}

enum Credential {
    Entra(Application),
    Sql { user: String, password: String },
}

type Connection = Client<Compat<TcpStream>>;

impl Dataverse {
    pub(super) fn open(
        variables: &Variables<'_>,
        query: &str,
        limits: Limits,
    ) -> Result<Self, SourceError> {
        let connection = variables.connection()?;
        let (place, login) = place::parse(&connection).map_err(|reason| variables.bad(reason))?;
        let named = variables.name().to_owned();
        let (credential, secret, looked_at) = match login {
            Login::Sql { user, password } => {
                (Credential::Sql { user, password: password.clone() }, password, named)
            }
            Login::ServicePrincipal { client_id, client_secret } => {
                let application = Application::named(variables, client_id, client_secret)?;
                let secret = application.secret();
                (Credential::Entra(application), secret, format!("{named} and AZURE_TENANT_ID"))
            }
            Login::Environment => {
                let application = Application::of(variables)?.ok_or_else(|| {
                    SourceError::MissingVariable { name: "AZURE_CLIENT_ID".to_owned() }
                })?;
                let secret = application.secret();
                (Credential::Entra(application), secret, entra::NEEDED.to_owned())
            }
        };
        let web = Web::new(Hidden::new([connection, secret]), limits.bytes_max)?;
        Ok(Self { place, credential, web, query: query.to_owned(), limits, looked_at })
    }

    async fn read(&self) -> Result<Rows, SourceError> {
        let authentication = match &self.credential {
            Credential::Sql { user, password } => AuthMethod::sql_server(user, password),
            Credential::Entra(application) => {
                let scope = format!("https://{}/.default", self.place.host);
                AuthMethod::aad_token(application.token(&self.web, &scope).await?)
            }
        };
        let mut client = match self.connect(&self.place, authentication.clone()).await {
            // A gateway may send us on once, to a server of its own domain.
            Err(Error::Routing { host, port }) if self.place.leads_to(&host) => {
                let place = Place { host, port, ..self.place.clone() };
                self.connect(&place, authentication).await
            }
            connected => connected,
        }
        .map_err(|error| self.sorted(error))?;
        self.ask(&mut client).await
    }

    async fn connect(
        &self,
        place: &Place,
        authentication: AuthMethod,
    ) -> Result<Connection, Error> {
        let mut config = Config::new();
        config.host(&place.host);
        config.port(place.port);
        if let Some(database) = &place.database {
            config.database(database);
        }
        config.application_name("stepwell");
        config.readonly(true);
        let strict = EncryptionLevel::Strict;
        config.encryption(if place.is_strict { strict } else { EncryptionLevel::Required });
        if let Some(path) = &place.authorities {
            config.trust_cert_ca(path);
        }
        config.authentication(authentication);
        let stream = TcpStream::connect((place.host.as_str(), place.port)).await?;
        stream.set_nodelay(true)?;
        // The handshake is large to wait for, and rare.
        Box::pin(Client::connect(config, stream.compat_write())).await
    }

    async fn ask(&self, client: &mut Connection) -> Result<Rows, SourceError> {
        let sorted = |error| self.sorted(error);
        let mut items = client.simple_query(self.query.as_str()).await.map_err(sorted)?;
        let mut collector: Option<Collector> = None;
        while let Some(item) = items.try_next().await.map_err(sorted)? {
            match (item, &mut collector) {
                (QueryItem::Metadata(metadata), None) => {
                    let names = metadata.columns().iter().map(|it| it.name().to_owned()).collect();
                    collector = Some(Collector::new(names, self.limits)?);
                }
                (QueryItem::Row(row), Some(collector)) => {
                    collector.push_values(row.into_iter().map(value::of))?;
                }
                (QueryItem::Metadata(_), Some(_)) => {
                    let message = "it returns more than one list; write one SELECT".to_owned();
                    return Err(SourceError::Query { message });
                }
                (QueryItem::Row(_), None) => {
                    return Err(SourceError::unreadable("a row came before its columns"));
                }
            }
        }
        collector.map(Collector::finish).ok_or_else(|| SourceError::Query {
            message: "it returns no columns; write a SELECT".to_owned(),
        })
    }

    fn sorted(&self, error: Error) -> SourceError {
        match error {
            Error::Server(said) => {
                let message = self.web.shown(said.message());
                if DENIED.contains(&said.code()) {
                    let reason = format!("{message}; check {}", self.looked_at);
                    return SourceError::AccessDenied { reason };
                }
                SourceError::Query { message }
            }
            Error::Tls(said) => SourceError::Untrusted { reason: self.web.shown(&said) },
            Error::Io { message, .. } => {
                SourceError::Unreachable { reason: self.web.shown(&message) }
            }
            // The driver has no error of its own for a server that does not encrypt.
            Error::Protocol(said) if said.contains("encryption") => SourceError::Untrusted {
                reason: "the server does not encrypt, and nothing is sent to such a one".to_owned(),
            },
            Error::Routing { .. } => SourceError::Untrusted {
                reason: "it sends us to a server of another domain".to_owned(),
            },
            other => SourceError::unreadable(self.web.shown(&other.to_string())),
        }
    }
}

impl Source for Dataverse {
    fn rows(&self) -> Answer<'_, Result<Rows, SourceError>> {
        Box::pin(self.read())
    }
}
