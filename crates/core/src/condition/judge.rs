//! What a condition comes to with the values at hand.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::error::JudgeError;
use super::{Condition, Operand, Operator};
use crate::template::Scope;

impl Condition {
    /// Whether it holds. `and` and `or` stop as soon as the answer is known, so that
    /// `{{size}} != null and {{size}} > 3` is safe where nothing has set `size`.
    ///
    /// # Errors
    ///
    /// Values that cannot be compared, and names that stand for several things.
    pub fn holds(&self, scope: &Scope<'_>) -> Result<bool, JudgeError> {
        match self {
            Self::Value(operand) => value(operand, scope).map(|value| counts_as_yes(&value)),
            Self::Comparison { left, operator, right } => {
                let (left, right) = (value(left, scope)?, value(right, scope)?);
                compare(&left, *operator, &right, self)
            }
            Self::Not(opposite) => opposite.holds(scope).map(|holds| !holds),
            Self::All(parts) => {
                for part in parts {
                    if !part.holds(scope)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Any(parts) => {
                for part in parts {
                    if part.holds(scope)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

/// A name that nothing has is null here: a step that was passed over has set no outputs, and that
/// is what conditions after it ask for.
fn value<'v>(operand: &'v Operand, scope: &Scope<'v>) -> Result<Cow<'v, Value>, JudgeError> {
    match operand {
        Operand::Variable(name) => {
            let found = scope.find_if_any(name).map_err(JudgeError::Ambiguous)?;
            Ok(found.map_or(Cow::Owned(Value::Null), Cow::Borrowed))
        }
        Operand::Literal(value) => Ok(Cow::Borrowed(value)),
        Operand::List(items) => {
            let items = items.iter().map(|item| value(item, scope).map(Cow::into_owned));
            Ok(Cow::Owned(items.collect::<Result<Value, _>>()?))
        }
    }
}

fn counts_as_yes(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

fn compare(
    left: &Value,
    operator: Operator,
    right: &Value,
    condition: &Condition,
) -> Result<bool, JudgeError> {
    let order = || {
        order(left, right).ok_or_else(|| JudgeError::NoOrder {
            comparison: condition.to_string(),
            left: kind(left),
            right: kind(right),
        })
    };
    match operator {
        Operator::Equal => Ok(same(left, right)),
        Operator::NotEqual => Ok(!same(left, right)),
        Operator::Less => order().map(Ordering::is_lt),
        Operator::AtMost => order().map(Ordering::is_le),
        Operator::Greater => order().map(Ordering::is_gt),
        Operator::AtLeast => order().map(Ordering::is_ge),
        Operator::In => holds(right, left, condition),
        Operator::NotIn => holds(right, left, condition).map(|holds| !holds),
    }
}

fn holds(list: &Value, wanted: &Value, condition: &Condition) -> Result<bool, JudgeError> {
    let Value::Array(items) = list else {
        return Err(JudgeError::NotAList { comparison: condition.to_string(), right: kind(list) });
    };
    Ok(items.iter().any(|item| same(item, wanted)))
}

/// Equal as people see it: 1 and 1.0 are the same number, `'1'` is a text.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => number_order(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        (left, right) => left == right,
    }
}

/// Only numbers among themselves and texts among themselves have an order.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => Some(number_order(left, right)),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// Whole numbers are compared exactly; 64-bit ids that differ in the last digit are different.
fn number_order(left: &Number, right: &Number) -> Ordering {
    let whole = |number: &Number| {
        number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
    };
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => {
            let (left, right) = (left.as_f64().unwrap_or(0.0), right.as_f64().unwrap_or(0.0));
            // Adding zero makes -0 equal to 0; JSON has no NaN.
            (left + 0.0).total_cmp(&(right + 0.0))
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
