//! One pass over a text, from left to right: what a rule recognizes is replaced by its mark.

/// A longer text is cut before it is looked at, at a blank, so that nothing is recognized by half.
const SCANNED_CHARS_MAX: usize = 4_096;

/// So many digits in a row, blanks and signs between them left aside, are a number of something.
const DIGITS_MIN: usize = 6;

/// A run of characters this long, with digits and letters mixed, is a key of something.
const TOKEN_CHARS_MIN: usize = 16;

/// A run of characters this long is a key of something whatever it is made of.
const WORD_CHARS_MAX: usize = 32;

/// What the value after such a word is, as in `password=…`.
const KEYS: [(&str, &str); 24] = [
    ("password", "[secret]"),
    ("passwd", "[secret]"),
    ("pwd", "[secret]"),
    ("passphrase", "[secret]"),
    ("pin", "[secret]"),
    ("secret", "[secret]"),
    ("token", "[secret]"),
    ("apikey", "[secret]"),
    ("api_key", "[secret]"),
    ("key", "[secret]"),
    ("signature", "[secret]"),
    ("sig", "[secret]"),
    ("authorization", "[secret]"),
    ("cookie", "[secret]"),
    ("session", "[secret]"),
    ("credential", "[secret]"),
    ("name", "[value]"),
    ("user", "[value]"),
    ("mail", "[value]"),
    ("phone", "[value]"),
    ("mobile", "[value]"),
    ("address", "[value]"),
    ("birth", "[value]"),
    ("ssn", "[value]"),
];

/// What a rule makes of the text at a place: what stands there instead, and where it goes on.
type Found = (String, usize);

/// Looks at the text from a place on; `None` if what begins there is nothing of its kind.
type Rule = fn(&[char], usize) -> Option<Found>;

/// Tried where a word begins, in this order: who comes first may contain what others look for.
const RULES: [Rule; 7] = [quoted, bearer, pair, user_of_url, mail, address, token];

/// The text in one line, with everything that a rule recognizes replaced.
pub(super) fn masked(text: &str) -> String {
    let chars = flattened(text);
    let mut out = String::new();
    let (mut at, mut marked_to) = (0, 0);
    while let Some(c) = chars.get(at) {
        // What follows a mark begins anew: the host of `fe80::da@host` is not shown either.
        let begins = at == marked_to || !chars[at - 1].is_alphanumeric();
        let found = if begins { RULES.iter().find_map(|rule| rule(&chars, at)) } else { None };
        let found = found.or_else(|| query(&chars, at)).or_else(|| number(&chars, at));
        match found {
            Some((mark, end)) => {
                out.push_str(&mark);
                (at, marked_to) = (end, end);
            }
            None => {
                out.push(*c);
                at += 1;
            }
        }
    }
    out.trim().to_owned()
}

/// One blank between words, no control characters, not too much of it.
fn flattened(text: &str) -> Vec<char> {
    let mut chars: Vec<char> = Vec::new();
    for c in text.chars() {
        let c = if c.is_control() || c.is_whitespace() { ' ' } else { c };
        if c != ' ' || chars.last().is_some_and(|last| *last != ' ') {
            chars.push(c);
        }
        if chars.len() > SCANNED_CHARS_MAX {
            let end = chars.iter().rposition(|c| *c == ' ').unwrap_or(0);
            chars.truncate(end);
            break;
        }
    }
    chars
}

/// Where the characters from a place on stop to be of a kind.
fn run(chars: &[char], from: usize, of: impl Fn(char) -> bool) -> usize {
    chars[from..].iter().position(|c| !of(*c)).map_or(chars.len(), |length| from + length)
}

/// Whatever stands between quotes came from somewhere else. Without an end it goes on to the end.
fn quoted(chars: &[char], at: usize) -> Option<Found> {
    let (open, close) = match chars[at] {
        c @ ('"' | '\'' | '`') => (c, c),
        '“' | '„' => (chars[at], '”'),
        '‘' => ('‘', '’'),
        '«' => ('«', '»'),
        _ => return None,
    };
    let ends = |place: usize| {
        let closes = chars[place] == close || (open == '„' && chars[place] == '“');
        // An apostrophe inside a word is none.
        closes && chars.get(place + 1).is_none_or(|next| close != '\'' || !next.is_alphanumeric())
    };
    match (at + 1..chars.len()).find(|place| ends(*place)) {
        Some(end) => Some((format!("{open}…{}", chars[end]), end + 1)),
        None if open == '\'' => None,
        None => Some((format!("{open}…"), chars.len())),
    }
}

/// `Bearer abc`: what follows the word is a secret.
fn bearer(chars: &[char], at: usize) -> Option<Found> {
    let end = run(chars, at, char::is_alphabetic);
    let word: String = chars[at..end].iter().collect();
    let follows = chars.get(end) == Some(&' ') && end + 1 < chars.len();
    if !follows || !["bearer", "basic"].contains(&word.to_lowercase().as_str()) {
        return None;
    }
    Some((format!("{word} [secret]"), run(chars, end + 1, |c| c != ' ')))
}

/// `password=abc`, `user name: Ada Lovelace`: what follows such a word, up to the next comma or the like.
fn pair(chars: &[char], at: usize) -> Option<Found> {
    let end = run(chars, at, |c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let sign = run(chars, end, |c| c == ' ');
    if end == at || !matches!(chars.get(sign), Some('=' | ':')) || chars.get(sign + 1) == Some(&'/')
    {
        return None;
    }
    let word: String = chars[at..end].iter().collect();
    let lower = word.to_lowercase().replace('-', "_");
    let parts = lower.split('_').chain([lower.as_str()]);
    let (_, mark) = KEYS.iter().find(|(key, _)| parts.clone().any(|part| part.ends_with(key)))?;
    let value = run(chars, sign + 1, |c| c == ' ');
    // An error is masked where it comes in and where it is shown: a mark stays as it is.
    let is_marked = chars[value..].iter().copied().take(mark.len()).eq(mark.chars());
    let from = if is_marked { value + mark.len() } else { value };
    let stop = run(chars, from, |c| !matches!(c, ',' | ';' | '&' | '|' | ')' | '}' | ']'));
    if stop == value {
        return None;
    }
    let between: String = chars[end..value].iter().collect();
    Some((format!("{word}{between}{mark}"), stop))
}

/// The user and password in `https://user:password@host`.
fn user_of_url(chars: &[char], at: usize) -> Option<Found> {
    let end = run(chars, at, |c| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-'));
    if end == at || chars.get(end..end + 3)? != [':', '/', '/'] {
        return None;
    }
    let host = end + 3;
    let authority = run(chars, host, |c| !matches!(c, '/' | '?' | '#' | ' '));
    let at_sign = chars[host..authority].iter().rposition(|c| *c == '@')?;
    Some((chars[at..host].iter().collect(), host + at_sign + 1))
}

/// Everything behind the question mark of a URL.
fn query(chars: &[char], at: usize) -> Option<Found> {
    let follows = chars.get(at + 1).is_some_and(|next| *next != ' ');
    let within = at > 0 && chars[at - 1] != ' ';
    if chars[at] != '?' || !follows || !within {
        return None;
    }
    Some(("?[query]".to_owned(), run(chars, at, |c| c != ' ')))
}

/// An e-mail address, or a handle: whatever has an `@` in it.
fn mail(chars: &[char], at: usize) -> Option<Found> {
    let part = |c: char| {
        !matches!(
            c,
            ' ' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | '"' | '|' | '=' | ':'
        )
    };
    let end = run(chars, at, part);
    let text = &chars[at..end];
    let is_mail = text.iter().any(|c| matches!(c, '@' | '＠'))
        || text.windows(3).any(|window| window == ['%', '4', '0']);
    is_mail.then(|| ("[email]".to_owned(), end))
}

/// An address of a machine: `10.0.0.1`, `fe80::1`, `00:1a:2b:3c:4d:5e`.
fn address(chars: &[char], at: usize) -> Option<Found> {
    let text = |of: fn(char) -> bool, around: &[char]| {
        let text: String = chars[at..run(chars, at, of)].iter().collect();
        text.trim_end_matches(around).to_owned()
    };
    let four = text(|c| c.is_ascii_digit() || c == '.', &['.']);
    let parts: Vec<&str> = four.split('.').collect();
    let is_four = parts.len() == 4 && parts.iter().all(|part| (1..=3).contains(&part.len()));
    let six = text(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.' | '%'), &[':', '.']);
    let colons = six.matches(':').count();
    let is_six = colons == 7 || colons == 5 || (colons > 1 && six.contains("::"));
    // Both are plain ASCII, so bytes are characters.
    let end = if is_four { at + four.len() } else { at + six.len() };
    (is_four || is_six).then(|| ("[address]".to_owned(), end))
}

/// A key of something: long, and letters and digits in one piece.
fn token(chars: &[char], at: usize) -> Option<Found> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '=' | '.' | '~');
    let end = run(chars, at, part);
    let text = &chars[at..end];
    if text.len() < TOKEN_CHARS_MIN {
        return None;
    }
    let pieces = text.split(|c| !c.is_alphanumeric());
    let is_key = pieces.into_iter().any(|piece| {
        let digits = piece.iter().filter(|c| c.is_numeric()).count();
        let mixed = digits > 1 && digits < piece.len() && piece.len() > 5;
        mixed || piece.len() >= WORD_CHARS_MAX
    });
    is_key.then(|| ("[id]".to_owned(), end))
}

/// A telephone number, an account, a date of birth: many digits, with blanks and signs between them.
fn number(chars: &[char], at: usize) -> Option<Found> {
    let digit = |place: usize| chars.get(place).is_some_and(|c| c.is_numeric());
    let begins = digit(at) || (chars[at] == '+' && digit(at + 1));
    if !begins {
        return None;
    }
    let (mut end, mut digits, mut place) = (at, 0, at);
    while let Some(c) = chars.get(place) {
        if c.is_numeric() {
            digits += 1;
            end = place + 1;
        } else if !matches!(c, ' ' | '-' | '.' | '(' | ')' | '/' | '+') || place - end >= 3 {
            break;
        }
        place += 1;
    }
    (digits >= DIGITS_MIN).then(|| ("[number]".to_owned(), end))
}
