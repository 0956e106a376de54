//! The words of a condition, each with the character at which it begins.

use serde_json::{Number, Value};

use super::error::{ConditionError, ConditionFault};
use super::{CONDITION_CHARS_MAX, Operator};
use crate::template::Placeholder;

/// One word of a condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// `{{name}}`
    Variable(String),
    /// text, a number, true, false or null
    Literal(Value),
    /// `==` and its like; `in` and `not` are words of their own
    Operator(Operator),
    In,
    Not,
    And,
    Or,
    OpenParenthesis,
    CloseParenthesis,
    OpenBracket,
    CloseBracket,
    Comma,
}

impl Token {
    /// The word as an author would recognize it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Variable(name) => format!("{{{{{name}}}}}"),
            Self::Literal(value) => super::print::literal(value),
            Self::Operator(operator) => operator.sign().to_owned(),
            Self::In => "in".to_owned(),
            Self::Not => "not".to_owned(),
            Self::And => "and".to_owned(),
            Self::Or => "or".to_owned(),
            Self::OpenParenthesis => "(".to_owned(),
            Self::CloseParenthesis => ")".to_owned(),
            Self::OpenBracket => "[".to_owned(),
            Self::CloseBracket => "]".to_owned(),
            Self::Comma => ",".to_owned(),
        }
    }
}

/// Signs of other languages, and what to write instead.
const INSTEAD: [(&str, &str); 5] =
    [("&&", "and"), ("||", "or"), ("=~", "== or in"), ("=", "=="), ("!", "not")];

/// Signs, the longer ones first.
const SIGNS: [(&str, Token); 11] = [
    ("==", Token::Operator(Operator::Equal)),
    ("!=", Token::Operator(Operator::NotEqual)),
    ("<=", Token::Operator(Operator::AtMost)),
    (">=", Token::Operator(Operator::AtLeast)),
    ("<", Token::Operator(Operator::Less)),
    (">", Token::Operator(Operator::Greater)),
    ("(", Token::OpenParenthesis),
    (")", Token::CloseParenthesis),
    ("[", Token::OpenBracket),
    ("]", Token::CloseBracket),
    (",", Token::Comma),
];

/// The words of a text, in order, each with the character at which it begins, counted from 1.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, ConditionError> {
    if text.chars().nth(CONDITION_CHARS_MAX).is_some() {
        return Err(ConditionError { fault: ConditionFault::TooLong, at: CONDITION_CHARS_MAX + 1 });
    }
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let at = text[..text.len() - rest.len()].chars().count() + 1;
        let (token, after) = next(rest).map_err(|fault| ConditionError { fault, at })?;
        tokens.push((token, at));
        rest = after.trim_start();
    }
    Ok(tokens)
}

/// The first word of a text that does not begin with a blank, and what follows it.
fn next(text: &str) -> Result<(Token, &str), ConditionFault> {
    if let Some(placeholder) = Placeholder::at_start_of(text) {
        let Placeholder { name, rest } = placeholder.map_err(ConditionFault::Placeholder)?;
        return Ok((Token::Variable(name.to_owned()), rest));
    }
    if let Some((sign, token)) = SIGNS.iter().find(|(sign, _)| text.starts_with(sign)) {
        return Ok((token.clone(), &text[sign.len()..]));
    }
    match text.chars().next() {
        Some(quote @ ('\'' | '"')) => quoted(text, quote),
        Some(first) if first == '-' || first.is_ascii_digit() => number(text),
        Some(first) if first.is_alphabetic() || first == '_' => word(text),
        first => Err(sign_of_another_language(text, first.unwrap_or(' '))),
    }
}

fn sign_of_another_language(text: &str, first: char) -> ConditionFault {
    match INSTEAD.iter().find(|(sign, _)| text.starts_with(sign)) {
        Some(&(found, meant)) => ConditionFault::Instead { found, meant },
        None => ConditionFault::UnknownCharacter { found: first },
    }
}

/// A text in quotes; the same quote twice stands for itself.
fn quoted(text: &str, quote: char) -> Result<(Token, &str), ConditionFault> {
    let mut content = String::new();
    let mut rest = &text[quote.len_utf8()..];
    loop {
        let Some((before, after)) = rest.split_once(quote) else {
            return Err(ConditionFault::UnclosedText { quote });
        };
        content.push_str(before);
        match after.strip_prefix(quote) {
            Some(after) => {
                content.push(quote);
                rest = after;
            }
            None => {
                // Who writes one in quotes expects its value, and would get the braces.
                if content.contains("{{") {
                    return Err(ConditionFault::QuotedPlaceholder);
                }
                return Ok((Token::Literal(Value::String(content)), after));
            }
        }
    }
}

/// A number as JSON writes it.
fn number(text: &str) -> Result<(Token, &str), ConditionFault> {
    let belongs = |c: char| c.is_alphanumeric() || matches!(c, '.' | '+' | '-' | '_');
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    match read_number(digits) {
        Some(number) => Ok((Token::Literal(Value::Number(number)), rest)),
        None => Err(ConditionFault::BadNumber { text: digits.to_owned() }),
    }
}

fn read_number(digits: &str) -> Option<Number> {
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    // A code such as 007 is text; taken for a number it would equal 7.
    let leading_zero = unsigned.len() > 1
        && unsigned.starts_with('0')
        && unsigned[1..].starts_with(|c: char| c.is_ascii_digit());
    if leading_zero || !unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        let signed = digits.parse::<i64>().ok().map(Number::from);
        return signed.or_else(|| digits.parse::<u64>().ok().map(Number::from));
    }
    if unsigned.ends_with('.') || unsigned.contains('_') {
        return None;
    }
    digits.parse::<f64>().ok().and_then(Number::from_f64)
}

fn word(text: &str) -> Result<(Token, &str), ConditionFault> {
    let belongs = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let token = match word {
        "and" => Token::And,
        "or" => Token::Or,
        "not" => Token::Not,
        "in" => Token::In,
        "true" => Token::Literal(Value::Bool(true)),
        "false" => Token::Literal(Value::Bool(false)),
        "null" => Token::Literal(Value::Null),
        other => return Err(ConditionFault::UnknownWord { word: other.to_owned() }),
    };
    Ok((token, rest))
}
