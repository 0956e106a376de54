//! Rust source split into what is code and what is comment, without a parser.
//!
//! Every rule of tidy and trace needs the same question answered: is this word code, a comment, or
//! text in a string? A lexer of a hundred lines answers it also inside macros such as `proptest!`,
//! where a parser of items sees only tokens.

/// One Rust file, with two masked copies of its text.
///
/// Both copies have the same lines as the text, and each line the same number of characters: what
/// does not belong is blanked out, never removed, so positions agree.
pub(crate) struct Source {
    /// Path from the workspace root, with forward slashes.
    pub(crate) path: String,
    /// The text as it is.
    pub(crate) lines: Vec<String>,
    /// Only code: comments and the insides of literals are blank.
    pub(crate) code: Vec<String>,
    /// Only comments.
    pub(crate) comments: Vec<String>,
}

impl Source {
    /// Splits `text` into code and comments.
    pub(crate) fn new(path: &str, text: &str) -> Source {
        let mut mask = Mask::new(text);
        mask.run();
        Source {
            path: path.to_owned(),
            lines: lines_of(text),
            code: lines_of(&mask.code),
            comments: lines_of(&mask.comments),
        }
    }

    /// Whether the line at `index` holds a comment and no code.
    pub(crate) fn is_comment(&self, index: usize) -> bool {
        self.code[index].trim().is_empty() && !self.comments[index].trim().is_empty()
    }
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// What the next characters belong to.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

struct Mask {
    text: Vec<char>,
    at: usize,
    code: String,
    comments: String,
}

impl Mask {
    fn new(text: &str) -> Mask {
        Mask { text: text.chars().collect(), at: 0, code: String::new(), comments: String::new() }
    }

    fn run(&mut self) {
        while let Some(next) = self.peek(0) {
            match (next, self.peek(1)) {
                ('/', Some('/')) => self.take_while(Kind::Comment, |c| c != '\n'),
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.string(),
                ('\'', _) => self.quote(),
                ('r', Some('"' | '#')) if self.starts_raw_string() => self.raw_string(),
                _ => self.take(Kind::Code),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    /// Moves one character to the copy it belongs to, and a blank to the other.
    fn take(&mut self, kind: Kind) {
        let Some(next) = self.peek(0) else { return };
        let blank = if next == '\n' { '\n' } else { ' ' };
        self.code.push(if kind == Kind::Code { next } else { blank });
        self.comments.push(if kind == Kind::Comment { next } else { blank });
        self.at += 1;
    }

    fn take_while(&mut self, kind: Kind, belongs: impl Fn(char) -> bool) {
        while self.peek(0).is_some_and(&belongs) {
            self.take(kind);
        }
    }

    /// Block comments nest in Rust.
    fn block_comment(&mut self) {
        let mut depth = 0;
        while let Some(next) = self.peek(0) {
            match (next, self.peek(1)) {
                ('/', Some('*')) => depth += 1,
                ('*', Some('/')) => depth -= 1,
                _ => {
                    self.take(Kind::Comment);
                    continue;
                }
            }
            self.take(Kind::Comment);
            self.take(Kind::Comment);
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.take(Kind::Code);
        while let Some(next) = self.peek(0) {
            match next {
                '"' => return self.take(Kind::Code),
                '\\' => {
                    self.take(Kind::Literal);
                    self.take(Kind::Literal);
                }
                _ => self.take(Kind::Literal),
            }
        }
    }

    /// A character literal, or the tick of a lifetime.
    fn quote(&mut self) {
        let escaped = self.peek(1) == Some('\\');
        self.take(Kind::Code);
        if escaped {
            self.take(Kind::Literal);
            self.take(Kind::Literal);
            self.take_while(Kind::Literal, |c| c != '\'');
            self.take(Kind::Code);
        } else if self.peek(1) == Some('\'') {
            self.take(Kind::Literal);
            self.take(Kind::Code);
        }
    }

    /// `r"`, `r#"`, and the same after `b` or `c`; but neither `r#type` nor the end of a word.
    fn starts_raw_string(&self) -> bool {
        let mut before = self.text[..self.at].iter().rev().copied();
        let mut previous = before.next();
        if matches!(previous, Some('b' | 'c')) {
            previous = before.next();
        }
        let inside_word = previous.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let hashes = self.text[self.at + 1..].iter().take_while(|c| **c == '#').count();
        !inside_word && self.peek(1 + hashes) == Some('"')
    }

    fn raw_string(&mut self) {
        self.take(Kind::Code);
        let start = self.at;
        self.take_while(Kind::Code, |c| c == '#');
        let hashes = self.at - start;
        self.take(Kind::Code);
        while let Some(next) = self.peek(0) {
            let closes = next == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#'));
            if closes {
                (0..=hashes).for_each(|_| self.take(Kind::Code));
                return;
            }
            self.take(Kind::Literal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, code: &str, comments: &str) {
        let source = Source::new("a.rs", text);
        assert_eq!(source.code.join("\n"), code, "code");
        assert_eq!(source.comments.join("\n"), comments, "comments");
    }

    #[test]
    fn a_comment_is_no_code_and_code_is_no_comment() {
        check("a // b", "a     ", "  // b");
        check("a /* b /* c */ d */ e", "a                   e", "  /* b /* c */ d */  ");
    }

    #[test]
    fn a_string_is_neither_code_nor_comment() {
        check(r#"f("// {", x)"#, r#"f("    ", x)"#, "            ");
        check(r#"("\"{")"#, r#"("   ")"#, "       ");
        check(r##"r#"{"//"# y"##, r##"r#"    "# y"##, "           ");
        check(r##"br#"{"#"##, r##"br#" "#"##, "       ");
    }

    #[test]
    fn a_brace_in_a_character_is_no_brace_and_a_lifetime_opens_nothing() {
        check("'{' '\\'' x<'a> '}'", "' ' '  ' x<'a> ' '", "                  ");
        check("'\\u{7f}'", "'      '", "        ");
    }

    #[test]
    fn a_word_that_ends_in_r_starts_no_raw_string() {
        check("attr\"x\"", "attr\" \"", "       ");
        check("r#type + 1", "r#type + 1", "          ");
    }

    #[test]
    fn lines_stay_where_they_are() {
        check("a\n\"b\nc\"\n// d\n", "a\n\" \n \"\n    ", " \n  \n  \n// d");
    }
}
