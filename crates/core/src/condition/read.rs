//! From words to a condition, by descent: one function for each line of the grammar.

use super::error::{ConditionError, ConditionFault};
use super::token::{Token, tokens};
use super::{CONDITION_DEPTH_MAX, Condition, Operand, Operator};

pub(super) fn read(text: &str) -> Result<Condition, ConditionError> {
    let tokens = tokens(text)?;
    if tokens.is_empty() {
        return Err(ConditionError { fault: ConditionFault::Empty, at: 1 });
    }
    let end = text.trim_end().chars().count() + 1;
    let mut reader = Reader { tokens, next: 0, end, depth: 0 };
    let condition = reader.either()?;
    match reader.peek() {
        None => Ok(condition),
        Some(_) => Err(reader.unexpected("and, or, or the end of the condition")),
    }
}

/// Reads words one after the other.
struct Reader {
    tokens: Vec<(Token, usize)>,
    next: usize,
    /// the character after the last
    end: usize,
    depth: usize,
}

impl Reader {
    /// `both { "or" both }`
    fn either(&mut self) -> Result<Condition, ConditionError> {
        let first = self.both()?;
        let mut parts = vec![first];
        while self.take(&Token::Or) {
            parts.push(self.both()?);
        }
        Ok(only(parts, Condition::Any))
    }

    /// `single { "and" single }`
    fn both(&mut self) -> Result<Condition, ConditionError> {
        let first = self.single()?;
        let mut parts = vec![first];
        while self.take(&Token::And) {
            parts.push(self.single()?);
        }
        Ok(only(parts, Condition::All))
    }

    /// `"not" single | "(" condition ")" | value [ comparison ]`
    fn single(&mut self) -> Result<Condition, ConditionError> {
        if self.take(&Token::Not) {
            let opposite = self.deeper(Self::single)?;
            return Ok(Condition::Not(Box::new(opposite)));
        }
        if self.take(&Token::OpenParenthesis) {
            let condition = self.deeper(Self::either)?;
            self.expect(&Token::CloseParenthesis, "and, or, or a closing parenthesis")?;
            return Ok(condition);
        }
        let left = self.value()?;
        let Some(operator) = self.operator()? else { return Ok(Condition::Value(left)) };
        let right = self.value()?;
        Ok(Condition::Comparison { left, operator, right })
    }

    fn operator(&mut self) -> Result<Option<Operator>, ConditionError> {
        if let Some(Token::Operator(operator)) = self.peek() {
            let operator = *operator;
            self.next += 1;
            return Ok(Some(operator));
        }
        if self.take(&Token::In) {
            return Ok(Some(Operator::In));
        }
        if self.take(&Token::Not) {
            self.expect(&Token::In, "in")?;
            return Ok(Some(Operator::NotIn));
        }
        Ok(None)
    }

    fn value(&mut self) -> Result<Operand, ConditionError> {
        let operand = match self.peek() {
            Some(Token::Variable(name)) => Operand::Variable(name.clone()),
            Some(Token::Literal(value)) => Operand::Literal(value.clone()),
            Some(Token::OpenBracket) => {
                self.next += 1;
                return self.deeper(Self::list).map(Operand::List);
            }
            Some(_) | None => return Err(self.unexpected("a value")),
        };
        self.next += 1;
        Ok(operand)
    }

    /// What follows the opening bracket of a list.
    fn list(&mut self) -> Result<Vec<Operand>, ConditionError> {
        let mut items = Vec::new();
        if self.take(&Token::CloseBracket) {
            return Ok(items);
        }
        loop {
            items.push(self.value()?);
            if self.take(&Token::CloseBracket) {
                return Ok(items);
            }
            self.expect(&Token::Comma, "a comma or a closing bracket")?;
        }
    }

    /// Reads something nested. The depth is bounded, because reading goes as deep as the text does.
    fn deeper<T>(
        &mut self,
        read: fn(&mut Self) -> Result<T, ConditionError>,
    ) -> Result<T, ConditionError> {
        if self.depth == CONDITION_DEPTH_MAX {
            return Err(ConditionError { fault: ConditionFault::TooDeep, at: self.place() });
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(token, _)| token)
    }

    fn take(&mut self, wanted: &Token) -> bool {
        let found = self.peek() == Some(wanted);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: &Token, expected: &'static str) -> Result<(), ConditionError> {
        if self.take(wanted) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn unexpected(&self, expected: &'static str) -> ConditionError {
        let found = self.peek().map_or_else(|| "the end of the condition".to_owned(), Token::shown);
        ConditionError { fault: ConditionFault::Unexpected { found, expected }, at: self.place() }
    }

    /// The character at which the next word begins.
    fn place(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(_, at)| *at)
    }
}

/// A single part stands for itself; several are put together.
fn only(mut parts: Vec<Condition>, together: fn(Vec<Condition>) -> Condition) -> Condition {
    match parts.pop() {
        Some(part) if parts.is_empty() => part,
        last => {
            parts.extend(last);
            together(parts)
        }
    }
}
