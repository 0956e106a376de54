//! Tokens of callers, and secrets of the installation.

use stepwell_core::id::Tenant;
use stepwell_core::time::Timestamp;
use tokio_postgres::Row;

use super::columns::{Columns, Text, millis};
use super::connection::Connection;
use crate::error::StoreError;
use crate::model::TokenRecord;

const TOKEN_INSERT: &str = include_str!("../../sql/postgres/token_insert.sql");
const TOKEN: &str = include_str!("../../sql/postgres/token.sql");
const TOKENS: &str = include_str!("../../sql/postgres/tokens.sql");
const TOKEN_REVOKE: &str = include_str!("../../sql/postgres/token_revoke.sql");
const SECRET_INSERT: &str = include_str!("../../sql/postgres/secret_insert.sql");
const SECRET_REPLACE: &str = include_str!("../../sql/postgres/secret_replace.sql");
const SECRETS: &str = include_str!("../../sql/postgres/secrets.sql");
const SECRET: &str = include_str!("../../sql/postgres/secret.sql");

/// Stores a token.
pub(super) async fn create(db: &mut Connection, token: &TokenRecord) -> Result<(), StoreError> {
    db.execute(
        TOKEN_INSERT,
        &[
            &Text(&token.id),
            &token.secret_hash.as_slice(),
            &Text(&token.name),
            &Text(&token.role),
            &token.tenant.as_ref().map(|tenant| Text(tenant.as_str())),
            &token.created_at.as_millis(),
            &millis(token.expires_at),
            &millis(token.revoked_at),
        ],
    )
    .await?;
    Ok(())
}

/// A token by its public id.
pub(super) async fn find(db: &mut Connection, id: &str) -> Result<Option<TokenRecord>, StoreError> {
    db.query(TOKEN, &[&Text(id)]).await?.first().map(read).transpose()
}

/// All tokens, oldest first.
pub(super) async fn list(db: &mut Connection) -> Result<Vec<TokenRecord>, StoreError> {
    db.query(TOKENS, &[]).await?.iter().map(read).collect()
}

/// Revokes a token; `false` if there is none, or it was revoked before.
pub(super) async fn revoke(
    db: &mut Connection,
    id: &str,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let rows = db.execute(TOKEN_REVOKE, &[&at.as_millis(), &Text(id)]).await?;
    Ok(rows == 1)
}

fn read(row: &Row) -> Result<TokenRecord, StoreError> {
    let mut columns = Columns::of(row);
    Ok(TokenRecord {
        id: columns.take()?,
        secret_hash: columns.hash()?,
        name: columns.take()?,
        role: columns.take()?,
        tenant: columns.take::<Option<&str>>()?.map(Tenant::new),
        created_at: columns.moment()?,
        expires_at: columns.moment_if_any()?,
        revoked_at: columns.moment_if_any()?,
    })
}

/// A secret by name; `fresh` is stored and returned if there was none.
pub(super) async fn secret(
    db: &mut Connection,
    name: &str,
    fresh: &[u8],
) -> Result<Vec<u8>, StoreError> {
    db.execute(SECRET_INSERT, &[&Text(name), &fresh]).await?;
    let found = db.query(SECRET, &[&Text(name)]).await?;
    found.first().map_or_else(
        || Err(StoreError::broken("a secret that was stored is gone")),
        |row| Columns::of(row).take(),
    )
}

/// Secrets by name, in the same order.
pub(super) async fn secrets(
    db: &mut Connection,
    names: &[String],
) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
    let mut found = vec![None; names.len()];
    for row in &db.query(SECRETS, &[&names]).await? {
        let mut columns = Columns::of(row);
        let place = usize::try_from(columns.take::<i64>()? - 1).unwrap_or(usize::MAX);
        if let Some(found) = found.get_mut(place) {
            *found = Some(columns.take()?);
        }
    }
    Ok(found)
}

/// Puts a secret in the place of the one that was seen, or of none; `false` if it is another by now.
pub(super) async fn replace_secret(
    db: &mut Connection,
    name: &str,
    seen: Option<&[u8]>,
    fresh: &[u8],
) -> Result<bool, StoreError> {
    let written = match seen {
        Some(seen) => db.execute(SECRET_REPLACE, &[&Text(name), &seen, &fresh]).await?,
        None => db.execute(SECRET_INSERT, &[&Text(name), &fresh]).await?,
    };
    Ok(written == 1)
}
