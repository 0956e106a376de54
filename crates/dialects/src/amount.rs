//! Amounts of credits as every wire shows them: numbers, exact to the millionth (C-011).

use serde::{Serialize, Serializer};
use serde_json::{Number, Value};
use stepwell_core::credit::Credits;

use crate::fields::{Field, Tree};

/// Millionths of a credit.
const UNIT: i64 = 1_000_000;

/// An amount that travels as a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(pub Credits);

impl Amount {
    /// As JSON: a whole number if it is one.
    #[must_use]
    pub fn to_json(self) -> Value {
        let millionths = self.0.0;
        if millionths % UNIT == 0 {
            return Value::from(millionths / UNIT);
        }
        // The text of an amount is the shortest there is, so the nearest double is written as it is
        // for every amount below four thousand million credits.
        let number = self.0.to_string().parse().ok().and_then(Number::from_f64);
        number.map_or(Value::Null, Value::Number)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

/// Reads an amount: a number, or the same as text, with at most six digits after the point.
pub fn read<T: Tree>(field: &Field<'_, T>) -> Option<Credits> {
    let node = field.node();
    let text = match (node.as_text(), node.as_number()) {
        (_, Some(number)) => number.to_string(),
        (Some(text), None) => text.to_owned(),
        (None, None) => {
            let message = format!("this must be an amount of credits, not {}", node.kind());
            field.report(field.problem("wrong_type", message));
            return None;
        }
    };
    let amount = text.parse();
    amount.map_err(|why| field.report(field.problem("bad_amount", format!("{why}")))).ok()
}

/// The same for an amount that must not be less than nothing.
pub fn read_positive<T: Tree>(field: &Field<'_, T>) -> Option<Credits> {
    let amount = read(field)?;
    if amount >= Credits::ZERO {
        return Some(amount);
    }
    let message = format!("{amount} is less than nothing");
    field.report(field.problem("out_of_range", message).help("write 0 or more"));
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::problem::Report;

    // C-011: numbers on the wire, and the same number back.
    #[test]
    fn an_amount_travels_as_a_number_and_comes_back_the_same() {
        for text in ["0", "3", "-12", "0.1", "7.000001", "-0.25", "3999999999.999999"] {
            let amount: Credits = text.parse().expect("an amount");
            let json = Amount(amount).to_json();
            assert_eq!(json.to_string(), text);
            let report = Report::new();
            assert_eq!(read(&Field::root(&json, &report)), Some(amount));
        }
    }

    #[test]
    fn what_is_no_amount_is_refused_with_the_reason() {
        let refused =
            [json!(0.000_000_1), json!("1e3"), json!(1e300), json!(true), json!([1]), json!("")];
        for value in refused {
            let report = Report::new();
            assert_eq!(read(&Field::root(&value, &report)), None, "{value}");
            assert!(report.finish(Some(())).is_err(), "{value}");
        }
        let report = Report::new();
        assert_eq!(read_positive(&Field::root(&json!(-1), &report)), None);
    }
}
