//! Values to columns and back, one column after the other.

use std::error::Error;

use bytes::BytesMut;
use stepwell_core::id::{LeaseId, RunId, Tenant};
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use crate::error::StoreError;
use crate::model::Epoch;

/// Reads the columns of a row in the order of its statement.
pub(super) struct Columns<'r> {
    row: &'r Row,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(super) fn of(row: &'r Row) -> Self {
        Self { row, next: 0 }
    }

    /// The next column as it is.
    pub(super) fn take<T: FromSql<'r>>(&mut self) -> Result<T, StoreError> {
        let column = self.next;
        self.next += 1;
        Ok(self.row.try_get(column)?)
    }

    /// The next column as a whole number of any width.
    fn integer_if_any(&mut self) -> Result<Option<i64>, StoreError> {
        let narrow = self.row.columns().get(self.next).is_some_and(|it| *it.type_() == Type::INT4);
        if narrow { Ok(self.take::<Option<i32>>()?.map(i64::from)) } else { self.take() }
    }

    /// The next column as a count, which is never negative.
    pub(super) fn count<T: TryFrom<i64>>(&mut self) -> Result<T, StoreError> {
        self.count_if_any()?.ok_or_else(|| self.misplaced("a number"))
    }

    /// The next column as a count that may be missing.
    pub(super) fn count_if_any<T: TryFrom<i64>>(&mut self) -> Result<Option<T>, StoreError> {
        self.integer_if_any()?
            .map(|number| T::try_from(number).map_err(|_| self.misplaced("a number in its range")))
            .transpose()
    }

    pub(super) fn moment(&mut self) -> Result<Timestamp, StoreError> {
        Ok(Timestamp::from_millis(self.take()?))
    }

    pub(super) fn moment_if_any(&mut self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.take::<Option<i64>>()?.map(Timestamp::from_millis))
    }

    pub(super) fn run_id(&mut self) -> Result<RunId, StoreError> {
        Ok(RunId(self.take()?))
    }

    pub(super) fn run_id_if_any(&mut self) -> Result<Option<RunId>, StoreError> {
        Ok(self.take::<Option<Uuid>>()?.map(RunId))
    }

    pub(super) fn lease_id_if_any(&mut self) -> Result<Option<LeaseId>, StoreError> {
        Ok(self.take::<Option<Uuid>>()?.map(LeaseId))
    }

    pub(super) fn epoch(&mut self) -> Result<Epoch, StoreError> {
        Ok(Epoch(self.count()?))
    }

    pub(super) fn tenant(&mut self) -> Result<Tenant, StoreError> {
        Ok(Tenant::new(self.take()?))
    }

    /// The next column as a hash.
    pub(super) fn hash(&mut self) -> Result<[u8; 32], StoreError> {
        let bytes: &[u8] = self.take()?;
        bytes.try_into().map_err(|_| self.misplaced("a hash of 32 bytes"))
    }

    /// The next two columns: code and message of an error, or neither.
    pub(super) fn error_if_any(&mut self) -> Result<Option<StepError>, StoreError> {
        let code: Option<String> = self.take()?;
        let message: Option<String> = self.take()?;
        Ok(code.zip(message).map(|(code, message)| StepError { code, message }))
    }

    /// The next column as a word of a closed list.
    pub(super) fn word<T>(&mut self, of_word: fn(&str) -> Option<T>) -> Result<T, StoreError> {
        let word: &str = self.take()?;
        of_word(word).ok_or_else(|| self.misplaced("a word we know"))
    }

    /// The next column as a word of a closed list that may be missing.
    pub(super) fn word_if_any<T>(
        &mut self,
        of_word: fn(&str) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        let word: Option<&str> = self.take()?;
        word.map(|word| of_word(word).ok_or_else(|| self.misplaced("a word we know"))).transpose()
    }

    /// Names the column that was taken last and says what it should have held.
    fn misplaced(&self, wanted: &str) -> StoreError {
        let name = self.row.columns().get(self.next - 1).map_or("?", |column| column.name());
        StoreError::broken(format!("column {name} does not hold {wanted}"))
    }
}

/// A moment that may be missing as it is bound.
pub(super) fn millis(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::as_millis)
}

/// A count as it is bound.
pub(super) fn number(count: u64) -> i64 {
    i64::try_from(count).expect("nothing here is counted beyond 2^63")
}

/// A count that is small by its nature as it is bound.
pub(super) fn small(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// A limit as it is bound.
pub(super) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// An epoch as it is bound.
pub(super) fn epoch(epoch: Epoch) -> i64 {
    number(epoch.0)
}

/// A value as it is bound: its columns are borrowed from what is written, for as long as that is.
pub(super) type Bound<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// Binds one value, or a whole column of an array.
pub(super) fn bind<'a>(value: impl ToSql + Sync + Send + 'a) -> Bound<'a> {
    Box::new(value)
}

/// One column of many rows, as an array.
pub(super) fn column<'a, R, T>(rows: &'a [R], of: impl Fn(&'a R) -> T) -> Bound<'a>
where
    T: ToSql + Sync + Send + 'a,
{
    Box::new(rows.iter().map(of).collect::<Vec<T>>())
}

/// Text as it is bound. PostgreSQL has no place for the character of code 0, which a worker may well put
/// in an error message; what stands there instead means "not representable".
#[derive(Debug)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl ToSql for Text<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        if self.0.contains('\0') {
            return self.0.replace('\0', "\u{FFFD}").to_sql(kind, out);
        }
        self.0.to_sql(kind, out)
    }

    fn accepts(kind: &Type) -> bool {
        <&str as ToSql>::accepts(kind)
    }

    to_sql_checked!();
}

/// Text that may be missing as it is bound.
pub(super) fn text<'a, S: AsRef<str> + ?Sized + 'a>(value: Option<&'a S>) -> Option<Text<'a>> {
    value.map(|value| Text(value.as_ref()))
}
