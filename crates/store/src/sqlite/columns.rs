//! Values to columns and back, one column after the other.

use rusqlite::Row;
use rusqlite::types::FromSql;
use stepwell_core::id::{LeaseId, RunId, Tenant};
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;
use uuid::Uuid;

use crate::error::StoreError;

/// Reads the columns of a row in the order of its statement.
pub(super) struct Columns<'r, 's> {
    row: &'r Row<'s>,
    next: usize,
}

impl<'r, 's> Columns<'r, 's> {
    pub(super) fn of(row: &'r Row<'s>) -> Self {
        Self { row, next: 0 }
    }

    /// The next column as it is.
    pub(super) fn take<T: FromSql>(&mut self) -> Result<T, StoreError> {
        let column = self.next;
        self.next += 1;
        Ok(self.row.get(column)?)
    }

    /// The next column as a count, which is never negative.
    pub(super) fn count<T: TryFrom<i64>>(&mut self) -> Result<T, StoreError> {
        let number: i64 = self.take()?;
        T::try_from(number).map_err(|_| self.misplaced("a number in its range"))
    }

    /// The next column as a count that may be missing.
    pub(super) fn count_if_any<T: TryFrom<i64>>(&mut self) -> Result<Option<T>, StoreError> {
        let number: Option<i64> = self.take()?;
        number
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
        Ok(RunId(Uuid::from_bytes(self.take()?)))
    }

    pub(super) fn run_id_if_any(&mut self) -> Result<Option<RunId>, StoreError> {
        Ok(self.take::<Option<[u8; 16]>>()?.map(|bytes| RunId(Uuid::from_bytes(bytes))))
    }

    pub(super) fn lease_id_if_any(&mut self) -> Result<Option<LeaseId>, StoreError> {
        Ok(self.take::<Option<[u8; 16]>>()?.map(|bytes| LeaseId(Uuid::from_bytes(bytes))))
    }

    pub(super) fn tenant(&mut self) -> Result<Tenant, StoreError> {
        Ok(Tenant(self.take()?))
    }

    /// The next two columns: code and message of an error, or neither.
    pub(super) fn error_if_any(&mut self) -> Result<Option<StepError>, StoreError> {
        let code: Option<String> = self.take()?;
        let message: Option<String> = self.take()?;
        Ok(code.zip(message).map(|(code, message)| StepError { code, message }))
    }

    /// The next column as a word of a closed list.
    pub(super) fn word<T>(&mut self, of_word: fn(&str) -> Option<T>) -> Result<T, StoreError> {
        let word: String = self.take()?;
        of_word(&word).ok_or_else(|| self.misplaced("a word we know"))
    }

    /// The next column as a word of a closed list that may be missing.
    pub(super) fn word_if_any<T>(
        &mut self,
        of_word: fn(&str) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        let word: Option<String> = self.take()?;
        word.map(|word| of_word(&word).ok_or_else(|| self.misplaced("a word we know"))).transpose()
    }

    /// Names the column that was taken last and says what it should have held.
    fn misplaced(&self, wanted: &str) -> StoreError {
        let name = self.row.as_ref().column_name(self.next - 1).unwrap_or("?");
        StoreError::broken(format!("column {name} does not hold {wanted}"))
    }
}

/// A run id as it is bound.
pub(super) fn key(run: &RunId) -> &[u8] {
    run.0.as_bytes()
}

/// A lease id as it is bound.
pub(super) fn lease_key(lease: &LeaseId) -> &[u8] {
    lease.0.as_bytes()
}

/// A moment that may be missing as it is bound.
pub(super) fn millis(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::as_millis)
}

/// A count as it is bound.
pub(super) fn number(count: u64) -> i64 {
    i64::try_from(count).expect("nothing here is counted beyond 2^63")
}

/// A limit as it is bound.
pub(super) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
