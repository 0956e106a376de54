//! Patterns of file names: `*.csv`, `report-?.txt`, `[0-9]*`, `*.{csv,tsv}`.
//!
//! Ours, because a name without directories needs only this much, and it takes time that grows with
//! the length of name and pattern, whatever somebody writes.

/// The longest pattern, in characters.
const CHARS_MAX: usize = 256;

/// Patterns that the braces of one may stand for.
const ALTERNATIVES_MAX: usize = 64;

/// A pattern of file names. Upper and lower case differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    alternatives: Vec<Vec<Token>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    One(char),
    /// `?`
    Any,
    /// `*`
    Many,
    /// `[a-z]`, `[!0-9]`
    Class {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// It names a directory.
    #[error("a pattern names files of one directory; leave out the slash")]
    Slash,
    /// It is empty or far too long.
    #[error("a pattern has 1 to {CHARS_MAX} characters")]
    Length,
    /// A bracket or brace has no partner.
    #[error("`{0}` is never closed")]
    Open(char),
    /// Braces in braces, or too many of them.
    #[error("braces may not stand in braces, nor mean more than {ALTERNATIVES_MAX} patterns")]
    Braces,
}

impl Glob {
    /// Reads a pattern: `*` is any text, `?` any character, `[a-z]` one of these, `[!a-z]` another,
    /// `{a,b}` either.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str) -> Result<Self, GlobError> {
        if text.is_empty() || text.chars().count() > CHARS_MAX {
            return Err(GlobError::Length);
        }
        if text.contains(['/', '\\']) {
            return Err(GlobError::Slash);
        }
        let alternatives = expand(text)?;
        let tokens = alternatives.iter().map(|text| tokens(text)).collect::<Result<_, _>>()?;
        Ok(Self { alternatives: tokens })
    }

    /// Whether a name fits.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        self.alternatives.iter().any(|tokens| fits(tokens, &name))
    }
}

/// The patterns without braces that a pattern stands for.
fn expand(text: &str) -> Result<Vec<String>, GlobError> {
    let mut patterns = vec![String::new()];
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (choices, behind) = after.split_once('}').ok_or(GlobError::Open('{'))?;
        if choices.contains('{') {
            return Err(GlobError::Braces);
        }
        let choices: Vec<&str> = choices.split(',').collect();
        if patterns.len() * choices.len() > ALTERNATIVES_MAX {
            return Err(GlobError::Braces);
        }
        let begun = patterns.iter().map(|pattern| format!("{pattern}{before}"));
        patterns = begun
            .flat_map(|begun| choices.iter().map(move |choice| format!("{begun}{choice}")))
            .collect();
        rest = behind;
    }
    patterns.iter_mut().for_each(|pattern| pattern.push_str(rest));
    Ok(patterns)
}

fn tokens(text: &str) -> Result<Vec<Token>, GlobError> {
    let mut tokens = Vec::new();
    let mut chars = text.chars();
    while let Some(next) = chars.next() {
        let token = match next {
            '*' if tokens.last() == Some(&Token::Many) => continue,
            '*' => Token::Many,
            '?' => Token::Any,
            '[' => class(&mut chars)?,
            other => Token::One(other),
        };
        tokens.push(token);
    }
    Ok(tokens)
}

fn class(chars: &mut std::str::Chars<'_>) -> Result<Token, GlobError> {
    let (inside, rest) = chars.as_str().split_once(']').ok_or(GlobError::Open('['))?;
    *chars = rest.chars();
    let (negated, inside) = match inside.strip_prefix(['!', '^']) {
        Some(inside) => (true, inside),
        None => (false, inside),
    };
    let mut ranges = Vec::new();
    let mut members = inside.chars().peekable();
    while let Some(first) = members.next() {
        let mut ahead = members.clone();
        match (ahead.next(), ahead.next()) {
            (Some('-'), Some(last)) => {
                ranges.push((first, last));
                members = ahead;
            }
            _ => ranges.push((first, first)),
        }
    }
    Ok(Token::Class { ranges, negated })
}

/// Goes through the name once; after a mismatch the last `*` takes one character more.
fn fits(tokens: &[Token], name: &[char]) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut last_many: Option<(usize, usize)> = None;
    while at < name.len() {
        if tokens.get(token) == Some(&Token::Many) {
            last_many = Some((token, at));
            token += 1;
        } else if tokens.get(token).is_some_and(|it| it.is(name[at])) {
            token += 1;
            at += 1;
        } else if let Some((many, taken)) = last_many {
            last_many = Some((many, taken + 1));
            token = many + 1;
            at = taken + 1;
        } else {
            return false;
        }
    }
    tokens[token..].iter().all(|rest| *rest == Token::Many)
}

impl Token {
    fn is(&self, character: char) -> bool {
        match self {
            Self::One(one) => *one == character,
            Self::Any => true,
            Self::Many => false,
            Self::Class { ranges, negated } => {
                let among =
                    ranges.iter().any(|(from, until)| (*from..=*until).contains(&character));
                among != *negated
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(pattern: &str, fitting: &[&str], others: &[&str]) {
        let glob = Glob::parse(pattern).unwrap();
        fitting.iter().for_each(|name| assert!(glob.fits(name), "{pattern} fits {name}"));
        others.iter().for_each(|name| assert!(!glob.fits(name), "{pattern} does not fit {name}"));
    }

    #[test]
    fn a_pattern_fits_what_it_says_and_nothing_else() {
        check("*.csv", &["a.csv", ".csv", "a.b.csv"], &["a.CSV", "a.csv.gz", "csv", ""]);
        check("*", &["", "anything at all"], &[]);
        check("a?c*", &["abc", "aéc-1"], &["ac", "babc"]);
        check("[0-9]*-[!a-c].txt", &["1-x.txt", "12-d.txt"], &["x-x.txt", "1-b.txt"]);
        check("*.{csv,tsv}", &["a.csv", "a.tsv"], &["a.txt", "a.{csv,tsv}"]);
        check("[a-]x", &["ax", "-x"], &["bx"]);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (text, error) in [
            ("", GlobError::Length),
            ("in/*.csv", GlobError::Slash),
            ("[a-z", GlobError::Open('[')),
            ("{a,b", GlobError::Open('{')),
            ("{a,{b,c}}", GlobError::Braces),
            ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", GlobError::Braces),
        ] {
            assert_eq!(Glob::parse(text), Err(error), "{text}");
        }
    }

    /// The same by trying every way.
    fn slow(tokens: &[Token], name: &[char]) -> bool {
        match tokens.split_first() {
            None => name.is_empty(),
            Some((Token::Many, rest)) => (0..=name.len()).any(|taken| slow(rest, &name[taken..])),
            Some((token, rest)) => name
                .split_first()
                .is_some_and(|(first, others)| token.is(*first) && slow(rest, others)),
        }
    }

    proptest! {
        #[test]
        fn the_quick_way_and_the_slow_way_agree(pattern in "[ab*?]{1,8}", name in "[ab]{0,8}") {
            let glob = Glob::parse(&pattern).unwrap();
            let name_chars: Vec<char> = name.chars().collect();
            prop_assert_eq!(glob.fits(&name), slow(&glob.alternatives[0], &name_chars));
        }
    }
}
