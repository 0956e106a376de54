//! Tokens of callers, and secrets of the installation.

use rusqlite::{Connection, Row, Transaction, params};
use stepwell_core::id::Tenant;
use stepwell_core::time::Timestamp;

use super::columns::{Columns, millis};
use crate::error::StoreError;
use crate::model::TokenRecord;

const TOKEN_INSERT: &str = include_str!("../../sql/sqlite/token_insert.sql");
const TOKEN: &str = include_str!("../../sql/sqlite/token.sql");
const TOKENS: &str = include_str!("../../sql/sqlite/tokens.sql");
const TOKEN_REVOKE: &str = include_str!("../../sql/sqlite/token_revoke.sql");
const SECRET_INSERT: &str = include_str!("../../sql/sqlite/secret_insert.sql");
const SECRET_REPLACE: &str = include_str!("../../sql/sqlite/secret_replace.sql");
const SECRET: &str = include_str!("../../sql/sqlite/secret.sql");

/// Stores a token.
pub(super) fn create(tx: &Transaction<'_>, token: &TokenRecord) -> Result<(), StoreError> {
    tx.prepare_cached(TOKEN_INSERT)?.execute(params![
        token.id,
        token.secret_hash,
        token.name,
        token.role,
        token.tenant.as_ref().map(Tenant::as_str),
        token.created_at.as_millis(),
        millis(token.expires_at),
        millis(token.revoked_at),
    ])?;
    Ok(())
}

/// A token by its public id.
pub(super) fn find(db: &Connection, id: &str) -> Result<Option<TokenRecord>, StoreError> {
    let mut statement = db.prepare_cached(TOKEN)?;
    let mut found = statement.query([id])?;
    found.next()?.map(read).transpose()
}

/// All tokens, oldest first.
pub(super) fn list(db: &Connection) -> Result<Vec<TokenRecord>, StoreError> {
    db.prepare_cached(TOKENS)?.query_and_then([], read)?.collect()
}

/// Revokes a token; `false` if there is none, or it was revoked before.
pub(super) fn revoke(tx: &Transaction<'_>, id: &str, at: Timestamp) -> Result<bool, StoreError> {
    let rows = tx.prepare_cached(TOKEN_REVOKE)?.execute(params![at.as_millis(), id])?;
    Ok(rows == 1)
}

fn read(row: &Row<'_>) -> Result<TokenRecord, StoreError> {
    let mut columns = Columns::of(row);
    Ok(TokenRecord {
        id: columns.take()?,
        secret_hash: columns.take()?,
        name: columns.take()?,
        role: columns.take()?,
        tenant: columns.take::<Option<String>>()?.map(|name| Tenant::new(&name)),
        created_at: columns.moment()?,
        expires_at: columns.moment_if_any()?,
        revoked_at: columns.moment_if_any()?,
    })
}

/// A secret by name; `fresh` is stored and returned if there was none.
pub(super) fn secret(
    tx: &Transaction<'_>,
    name: &str,
    fresh: &[u8],
) -> Result<Vec<u8>, StoreError> {
    tx.prepare_cached(SECRET_INSERT)?.execute(params![name, fresh])?;
    Ok(tx.prepare_cached(SECRET)?.query_row([name], |row| row.get(0))?)
}

/// Secrets by name, in the same order.
pub(super) fn secrets(
    db: &Connection,
    names: &[String],
) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
    let mut statement = db.prepare_cached(SECRET)?;
    let mut found = |name: &String| -> Result<Option<Vec<u8>>, StoreError> {
        let mut rows = statement.query([name])?;
        Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
    };
    names.iter().map(&mut found).collect()
}

/// Puts a secret in the place of the one that was seen, or of none; `false` if it is another by now.
pub(super) fn replace_secret(
    tx: &Transaction<'_>,
    name: &str,
    seen: Option<&[u8]>,
    fresh: &[u8],
) -> Result<bool, StoreError> {
    let written = match seen {
        Some(seen) => tx.prepare_cached(SECRET_REPLACE)?.execute(params![name, seen, fresh])?,
        None => tx.prepare_cached(SECRET_INSERT)?.execute(params![name, fresh])?,
    };
    Ok(written == 1)
}
