//! Values of SQL Server as JSON.

use jiff::civil::{Date, DateTime, date};
use jiff::{Span, ToSpan};
use serde_json::Value;
use tiberius::ColumnData;
use tiberius::numeric::Numeric;
use tiberius::time::{DateTime2, Time};

use crate::source::value;

/// A value as JSON. What lies outside of the calendar is null.
pub(super) fn of(value: ColumnData<'_>) -> Value {
    let known = match value {
        ColumnData::U8(number) => number.map(Value::from),
        ColumnData::I16(number) => number.map(Value::from),
        ColumnData::I32(number) => number.map(Value::from),
        ColumnData::I64(number) => number.map(Value::from),
        // By way of its text: 0.1 is not to become 0.10000000149011612.
        ColumnData::F32(number) => number.map(|number| value::decimal(&number.to_string())),
        ColumnData::F64(number) => number.map(value::float),
        ColumnData::Bit(bit) => bit.map(Value::from),
        ColumnData::String(text) => text.map(|text| Value::from(text.into_owned())),
        ColumnData::Guid(id) => id.map(|id| Value::from(id.to_string())),
        ColumnData::Binary(bytes) => bytes.map(|bytes| value::bytes(&bytes)),
        ColumnData::Numeric(number) => number.map(|number| value::decimal(&digits(number))),
        ColumnData::Xml(xml) => xml.map(|xml| Value::from(xml.into_owned().into_string())),
        ColumnData::DateTime(time) => time.and_then(|time| {
            let nanos = i64::from(time.seconds_fragments()) * 1_000_000_000 / 300;
            moment(day(date(1900, 1, 1), time.days().into())?, nanos / 1_000_000 * 1_000_000)
        }),
        ColumnData::SmallDateTime(time) => time.and_then(|time| {
            let nanos = i64::from(time.seconds_fragments()) * 60 * 1_000_000_000;
            moment(day(date(1900, 1, 1), time.days().into())?, nanos)
        }),
        ColumnData::Time(time) => time.and_then(|time| {
            let time =
                date(1900, 1, 1).at(0, 0, 0, 0).checked_add(nanos(time)?.nanoseconds()).ok()?;
            Some(Value::from(time.time().to_string()))
        }),
        ColumnData::Date(time) => time.and_then(|time| {
            Some(Value::from(day(date(1, 1, 1), time.days().into())?.to_string()))
        }),
        ColumnData::DateTime2(time) => time.and_then(of_datetime2),
        // Its time is already the one of UTC; the offset says only how it was written.
        ColumnData::DateTimeOffset(time) => time.and_then(|time| of_datetime2(time.datetime2())),
    };
    known.unwrap_or(Value::Null)
}

fn of_datetime2(time: DateTime2) -> Option<Value> {
    moment(day(date(1, 1, 1), time.date().days().into())?, nanos(time.time())?)
}

fn day(first: Date, days: i64) -> Option<Date> {
    first.checked_add(Span::new().try_days(days).ok()?).ok()
}

/// Nanoseconds since midnight.
fn nanos(time: Time) -> Option<i64> {
    let digits = 9_u32.checked_sub(time.scale().into())?;
    i64::try_from(time.increments()).ok()?.checked_mul(10_i64.checked_pow(digits)?)
}

fn moment(day: Date, nanos: i64) -> Option<Value> {
    let time: DateTime = day.at(0, 0, 0, 0).checked_add(nanos.nanoseconds()).ok()?;
    Some(value::moment(&time.to_string()))
}

/// A decimal as it is written by hand; the driver's own text drops zeros behind the point.
fn digits(number: Numeric) -> String {
    let (value, scale) = (number.value(), usize::from(number.scale()));
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    match digits.split_at(digits.len() - scale) {
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;
    use tiberius::time::{Date as TdsDate, DateTime as Legacy, DateTimeOffset, SmallDateTime};

    use super::*;

    /// 2026-03-15 in days since the first day of the first year.
    const DAY: u32 = 739_689;

    // the types of the TDS endpoint.
    #[test]
    fn values_keep_their_types() {
        let eight = Time::new(8 * 3_600 * 10_000_000, 7);
        let noon = DateTime2::new(TdsDate::new(DAY), eight);
        for (value, expected) in [
            (ColumnData::U8(Some(7)), json!(7)),
            (ColumnData::I64(Some(i64::MIN)), json!(i64::MIN)),
            (ColumnData::F32(Some(0.1)), json!(0.1)),
            (ColumnData::F64(Some(2.5)), json!(2.5)),
            (ColumnData::Bit(Some(true)), json!(true)),
            (ColumnData::String(Some(Cow::from("Größe"))), json!("Größe")),
            (ColumnData::String(None), json!(null)),
            (ColumnData::Binary(Some(Cow::from(vec![1, 2]))), json!("AQI=")),
            (ColumnData::Numeric(Some(Numeric::new_with_scale(-1_250, 2))), json!(-12.5)),
            (ColumnData::Numeric(Some(Numeric::new_with_scale(5, 3))), json!(0.005)),
            (ColumnData::Numeric(Some(Numeric::new_with_scale(17, 0))), json!(17)),
            (
                ColumnData::Numeric(Some(Numeric::new_with_scale(12_345_678_901_234_567_890, 2))),
                json!("123456789012345678.90"),
            ),
            (ColumnData::Date(Some(TdsDate::new(DAY))), json!("2026-03-15")),
            (ColumnData::Time(Some(eight)), json!("08:00:00")),
            (ColumnData::DateTime2(Some(noon)), json!("2026-03-15T08:00:00Z")),
            (
                ColumnData::DateTimeOffset(Some(DateTimeOffset::new(noon, 60))),
                json!("2026-03-15T08:00:00Z"),
            ),
            (
                ColumnData::DateTime(Some(Legacy::new(46_094, 8 * 3_600 * 300 + 1))),
                json!("2026-03-15T08:00:00.003Z"),
            ),
            (
                ColumnData::SmallDateTime(Some(SmallDateTime::new(46_094, 8 * 60))),
                json!("2026-03-15T08:00:00Z"),
            ),
            (ColumnData::Date(Some(TdsDate::new(0x00ff_ffff))), json!(null)),
        ] {
            assert_eq!(of(value.clone()), expected, "{value:?}");
        }
    }
}
