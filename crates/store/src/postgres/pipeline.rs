//! Statements that are sent one after the other without waiting, and answered in one round trip.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::columns::Bound;
use super::connection::Connection;

/// An answer that is on its way.
type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Statements on their way to the server, and the answers that are back.
///
/// The server works through them in order. If one fails inside a transaction, all that follow fail too,
/// and a `COMMIT` at the end takes everything back.
pub(super) struct Pipeline<'a> {
    connection: &'a Connection,
    pending: Vec<Pending<'a, Vec<Row>>>,
    answers: Vec<Vec<Row>>,
}

/// Which answer belongs to a statement that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent(usize);

impl<'a> Pipeline<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        Self { connection, pending: Vec::new(), answers: Vec::new() }
    }

    /// Sends a statement that is prepared.
    pub(super) fn send(&mut self, statement: &'static str, bound: Vec<Bound<'a>>) -> Sent {
        let sent = Sent(self.answers.len() + self.pending.len());
        let (client, prepared) = (self.connection.client(), self.connection.prepared(statement));
        self.pending.push(begun(async move {
            let bound: Vec<&(dyn ToSql + Sync)> =
                bound.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
            client.query(prepared, &bound).await
        }));
        sent
    }

    /// Waits for everything that was sent.
    ///
    /// # Errors
    /// The first one; what came after it failed because of it.
    pub(super) async fn wait(&mut self) -> Result<(), Error> {
        for pending in std::mem::take(&mut self.pending) {
            self.answers.push(pending.await?);
        }
        Ok(())
    }

    /// The rows that a statement was answered with; none, if it was not sent.
    pub(super) fn rows(&self, sent: Option<Sent>) -> &[Row] {
        sent.and_then(|Sent(place)| self.answers.get(place)).map_or(&[], Vec::as_slice)
    }
}

/// Sends what is asked, and gives back what to wait for.
///
/// The driver sends when its answer is first asked for. So it is asked here, once, and waited for later,
/// with the others.
pub(super) fn begun<'a, T: Send + 'a>(
    asked: impl Future<Output = Result<T, Error>> + Send + 'a,
) -> Pending<'a, T> {
    let mut pending: Pending<'a, T> = Box::pin(asked);
    match pending.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Pending => pending,
        Poll::Ready(answer) => Box::pin(std::future::ready(answer)),
    }
}
