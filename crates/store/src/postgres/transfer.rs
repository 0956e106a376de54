//! Takes in what another store held, in one transaction.

use std::error::Error;
use std::pin::Pin;

use bytes::{BufMut, BytesMut};
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use super::connection::Connection;
use super::direct::connect;
use super::{Options, PostgresStore};
use crate::Store;
use crate::error::StoreError;
use crate::transfer::{Cell, Digest, HISTORY_TABLE, Moved, TABLES, Table};

/// Records that are read back at once.
const PAGE: usize = 2_000;

/// A move may take long; and no server starts while it lasts, because none can add its instance.
const BEGIN: &str = "SET statement_timeout = 0;
                     SET idle_in_transaction_session_timeout = 0;
                     BEGIN;
                     LOCK TABLE instance IN SHARE ROW EXCLUSIVE MODE";

/// A database that is being filled. Dropped before the commit, it is as empty as it was.
pub(crate) struct Target {
    connection: Connection,
}

/// Rows of one table on their way.
pub(crate) struct Copy {
    table: &'static Table,
    writer: Pin<Box<BinaryCopyInWriter>>,
}

impl Target {
    /// Sees whether a database could be filled, without writing anything.
    ///
    /// # Errors
    /// `Refused` if a server uses it, or it is not empty.
    pub(crate) async fn look(url: &str) -> Result<(), StoreError> {
        let target = Self { connection: connect(url).await? };
        let known = target.ask::<bool>("SELECT to_regclass('instance') IS NOT NULL").await?;
        if known { target.check_empty().await } else { Ok(()) }
    }

    /// Makes the tables if there are none, and begins to fill them.
    ///
    /// # Errors
    /// `Refused` if a server uses the database, or it is not empty.
    pub(crate) async fn begin(url: &str) -> Result<Self, StoreError> {
        PostgresStore::open(url, Options::default()).await?.close().await?;
        let target = Self { connection: connect(url).await? };
        target.connection.batch(BEGIN).await?;
        target.check_empty().await?;
        Ok(target)
    }

    async fn check_empty(&self) -> Result<(), StoreError> {
        let living = "SELECT count(*) FROM instance WHERE state = 'alive'";
        if self.ask::<i64>(living).await? > 0 {
            return Err(StoreError::Refused {
                reason: "a server uses the target, or was killed and nobody has noticed yet; stop \
                         all servers on it, and name an empty database or another schema"
                    .to_owned(),
            });
        }
        for table in &TABLES {
            let filled = format!("SELECT EXISTS (SELECT FROM {})", table.name);
            if self.ask::<bool>(&filled).await? {
                return Err(StoreError::Refused {
                    reason: format!(
                        "the target is not empty: {} has rows; name an empty database or another \
                         schema",
                        table.name
                    ),
                });
            }
        }
        Ok(())
    }

    /// Begins to fill a table.
    pub(crate) async fn copy(&self, table: &'static Table) -> Result<Copy, StoreError> {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let (client, columns) = (self.connection.client(), columns.join(", "));
        let known = client.prepare(&format!("SELECT {columns} FROM {}", table.name)).await?;
        let types: Vec<Type> = known.columns().iter().map(|it| it.type_().clone()).collect();
        let sql = format!("COPY {} ({columns}) FROM STDIN (FORMAT binary)", table.name);
        let sink = client.copy_in(&sql).await?;
        Ok(Copy { table, writer: Box::pin(BinaryCopyInWriter::new(sink, &types)) })
    }

    /// Ends the filling of a table.
    pub(crate) async fn finish(&self, mut copy: Copy) -> Result<(), StoreError> {
        copy.writer.as_mut().finish().await?;
        Ok(())
    }

    /// Lets the numbers of a table go on where they were.
    pub(crate) async fn set_number(&self, table: &Table, last: i64) -> Result<(), StoreError> {
        if !table.counted || last == 0 {
            return Ok(());
        }
        let sql = format!("SELECT setval(pg_get_serial_sequence('{}', 'id'), {last})", table.name);
        self.ask::<i64>(&sql).await.map(drop)
    }

    /// What has arrived.
    pub(crate) async fn contents(&self) -> Result<Moved, StoreError> {
        let mut tables = Vec::with_capacity(TABLES.len());
        for table in &TABLES {
            let count = self.ask::<i64>(&format!("SELECT count(*) FROM {}", table.name)).await?;
            tables.push((table.name, count.unsigned_abs()));
        }
        Ok(Moved { tables, history: self.digest().await?.finish() })
    }

    async fn digest(&self) -> Result<Digest, StoreError> {
        let client = self.connection.client();
        client
            .batch_execute(&format!(
                "DECLARE record NO SCROLL CURSOR FOR
                 SELECT run_id, version, at, entries FROM {HISTORY_TABLE} ORDER BY run_id, version"
            ))
            .await?;
        let fetch = client.prepare(&format!("FETCH {PAGE} FROM record")).await?;
        let mut digest = Digest::default();
        loop {
            let rows = client.query(&fetch, &[]).await?;
            for row in &rows {
                let run: Uuid = row.try_get(0)?;
                digest.add(run.as_bytes(), row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
            }
            if rows.len() < PAGE {
                return Ok(digest);
            }
        }
    }

    /// Keeps everything. Plans are made from what is there now, not from empty tables.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        let client = self.connection.client();
        client.batch_execute("COMMIT").await?;
        client.batch_execute("ANALYZE").await?;
        Ok(())
    }

    async fn ask<T>(&self, sql: &str) -> Result<T, StoreError>
    where
        T: for<'r> tokio_postgres::types::FromSql<'r>,
    {
        let row = self.connection.client().query_one(sql, &[]).await?;
        Ok(row.try_get(0)?)
    }
}

impl Copy {
    /// The name of its table.
    pub(crate) fn table(&self) -> &'static str {
        self.table.name
    }

    /// Sends rows.
    pub(crate) async fn write(&mut self, rows: &[Vec<Cell>]) -> Result<(), StoreError> {
        for row in rows {
            self.writer.as_mut().write_raw(row).await?;
        }
        Ok(())
    }
}

impl ToSql for Cell {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self, kind) {
            (Self::Null, _) => return Ok(IsNull::Yes),
            (Self::Number(number), &Type::INT4) => out.put_i32(i32::try_from(*number)?),
            (Self::Number(number), &Type::INT8) => out.put_i64(*number),
            (Self::Number(number), &Type::BOOL) => out.put_u8(u8::from(*number != 0)),
            (Self::Text(text), &Type::TEXT) => out.put_slice(text.as_bytes()),
            (Self::Bytes(bytes), &Type::BYTEA | &Type::UUID) => out.put_slice(bytes),
            // Without the value, which may be anybody's data.
            (_, kind) => return Err(format!("a value is not of type {kind}").into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
