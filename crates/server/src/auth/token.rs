//! API tokens: `swl_<id>_<secret>`. The store has the id and a hash; the secret is shown once.
//!
//! The secret has 256 random bits, so a plain SHA-256 protects it as well as a slow hash would.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use stepwell_core::duration::Interval;
use stepwell_core::id::Tenant;
use stepwell_core::time::Timestamp;
use stepwell_engine::Engine;
use stepwell_store::{StoreError, TokenRecord};

use super::{Authenticated, Authenticator, Caller, Role};
use crate::error::{ApiError, Code};

const PREFIX: &str = "swl_";
const ID_CHARS: usize = 8;
const SECRET_BYTES: usize = 32;

/// How long a record is believed without asking the store: the longest that a revoked token works.
const BELIEVED: Interval = Interval::from_secs(5);

/// Records kept in memory; beyond it all are asked for again, so that made-up ids cannot fill it.
const KEPT_MAX: usize = 4_096;

/// A token's life, unless whoever makes it says otherwise.
pub(crate) const DAYS_DEFAULT: u64 = 90;

/// What a new token shall be.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// for people
    pub name: String,
    /// what it may do
    pub role: Role,
    /// whose things it may see; `None`: everybody's
    pub tenant: Option<Tenant>,
    /// when it stops working
    pub expires_at: Option<Timestamp>,
}

/// Makes a token and stores its hash. The text is the only copy of the secret.
///
/// # Errors
/// When the store does not take it.
pub async fn create(engine: &Engine, new: NewToken) -> Result<(TokenRecord, String), StoreError> {
    let id = fresh_id();
    let secret = BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; SECRET_BYTES]>());
    let record = TokenRecord {
        id: id.clone(),
        secret_hash: hash(&secret),
        name: new.name,
        role: new.role.word().to_owned(),
        tenant: new.tenant,
        created_at: engine.now(),
        expires_at: new.expires_at,
        revoked_at: None,
    };
    engine.store().create_token(record.clone()).await?;
    Ok((record, format!("{PREFIX}{id}_{secret}")))
}

/// An administrator's token for an installation where nobody could make one, else `None`.
///
/// # Errors
/// When the store is away.
pub async fn first_admin_token(engine: &Engine) -> Result<Option<String>, StoreError> {
    let now = engine.now();
    let is_admin = |token: &TokenRecord| token.role == Role::Admin.word() && works(token, now);
    if engine.store().tokens().await?.iter().any(is_admin) {
        return Ok(None);
    }
    let expires_at = Some(now.after(Interval::from_secs(DAYS_DEFAULT * 24 * 60 * 60)));
    let name = "first administrator".to_owned();
    let new = NewToken { name, role: Role::Admin, tenant: None, expires_at };
    Ok(Some(create(engine, new).await?.1))
}

/// Knows callers by their API tokens.
pub(crate) struct Tokens {
    engine: Engine,
    kept: Mutex<HashMap<String, Kept>>,
}

struct Kept {
    record: Option<TokenRecord>,
    until: Timestamp,
}

impl Tokens {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, kept: Mutex::default() }
    }

    async fn record(&self, id: &str) -> Result<Option<TokenRecord>, ApiError> {
        let now = self.engine.now();
        if let Some(record) = self.kept(id, now) {
            return Ok(record);
        }
        let record = self.engine.store().token(id.to_owned()).await?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        let until = now.after(BELIEVED);
        kept.insert(id.to_owned(), Kept { record: record.clone(), until });
        Ok(record)
    }

    fn kept(&self, id: &str, now: Timestamp) -> Option<Option<TokenRecord>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(id).filter(|kept| now < kept.until).map(|kept| kept.record.clone())
    }

    async fn caller(&self, bearer: &str) -> Result<Caller, ApiError> {
        let refused = || ApiError::new(Code::InvalidToken, "the token is not valid");
        let (id, secret) = split(bearer).ok_or_else(refused)?;
        let record = self.record(id).await?;
        // An unknown id costs the same hash and comparison as a known one.
        let stored = record.as_ref().map_or([0; 32], |record| record.secret_hash);
        let is_same = is_same(&stored, &hash(secret));
        let record = record.filter(|record| is_same && works(record, self.engine.now()));
        let record = record.ok_or_else(refused)?;
        let role = Role::of_word(&record.role).ok_or_else(refused)?;
        let subject = format!("{} ({PREFIX}{})", record.name, record.id);
        Ok(Caller { subject, role, tenant: record.tenant })
    }
}

impl Authenticator for Tokens {
    fn authenticate<'a>(&'a self, bearer: &'a str) -> Authenticated<'a> {
        Box::pin(self.caller(bearer))
    }
}

fn works(token: &TokenRecord, now: Timestamp) -> bool {
    token.revoked_at.is_none() && token.expires_at.is_none_or(|expires_at| now < expires_at)
}

/// Id and secret of a text that has the form of a token.
fn split(bearer: &str) -> Option<(&str, &str)> {
    let (id, secret) = bearer.strip_prefix(PREFIX)?.split_once('_')?;
    let is_id = id.len() == ID_CHARS && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_id && secret.len() == 43).then_some((id, secret))
}

fn fresh_id() -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // The slight bias of the remainder does not matter: the id is public.
    let random: [u8; ID_CHARS] = rand::random();
    random.iter().map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])).collect()
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Compares in a time that does not depend on where the first difference is.
fn is_same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let difference = one.iter().zip(other).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
    difference == 0
}
