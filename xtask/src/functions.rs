//! Where functions begin and end, and which of them are tests.

use crate::source::Source;

/// A function with a body.
#[derive(Debug, PartialEq)]
pub(crate) struct Function {
    /// Its name, or `$name` inside a macro definition.
    pub(crate) name: String,
    /// Index of the first line of the comments and attributes that stand directly above.
    pub(crate) block: usize,
    /// Index of the line with `fn`.
    pub(crate) first: usize,
    /// Index of the line with the closing brace.
    pub(crate) last: usize,
    /// Whether `cargo test` runs it: it carries a test attribute and is not ignored.
    pub(crate) is_test: bool,
}

impl Function {
    /// Lines from the signature to the closing brace.
    pub(crate) fn length(&self) -> usize {
        self.last - self.first + 1
    }

    /// The text of all comments above and inside.
    pub(crate) fn comments(&self, source: &Source) -> String {
        source.comments[self.block..=self.last].join("\n")
    }
}

/// All functions of a file that have a body, nested ones included, in the order they begin.
pub(crate) fn functions(source: &Source) -> Vec<Function> {
    let tokens = tokens(&source.code);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.text != "fn" {
            continue;
        }
        // `fn(u32) -> u32` is a type; it has no name.
        let Some(name) = tokens.get(at + 1).filter(|next| next.is_word()) else { continue };
        let Some(last) = end_of_body(&tokens[at + 2..]) else { continue };
        let block = start_of_block(source, token.line);
        let attributes = source.code[block..=token.line].join(" ");
        found.push(Function {
            name: name.text.clone(),
            block,
            first: token.line,
            last,
            is_test: is_test(&attributes),
        });
    }
    found
}

struct Token {
    text: String,
    line: usize,
}

impl Token {
    fn is_word(&self) -> bool {
        self.text.starts_with(is_word_character)
    }
}

fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Words as a whole, every other visible character alone.
fn tokens(code: &[String]) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    for (line, text) in code.iter().enumerate() {
        let mut in_word = false;
        for c in text.chars() {
            let word = is_word_character(c);
            match tokens.last_mut() {
                Some(token) if word && in_word => token.text.push(c),
                _ if !c.is_whitespace() => tokens.push(Token { text: c.to_string(), line }),
                _ => {}
            }
            in_word = word;
        }
    }
    tokens
}

/// The line of the brace that closes the body; nothing for a declaration without one.
fn end_of_body(signature: &[Token]) -> Option<usize> {
    let mut nested = 0_i32;
    let mut braces = 0_i32;
    for token in signature {
        match token.text.as_str() {
            "(" | "[" => nested += 1,
            ")" | "]" => nested -= 1,
            ";" if nested == 0 && braces == 0 => return None,
            "{" => braces += 1,
            "}" => {
                braces -= 1;
                if braces == 0 {
                    return Some(token.line);
                }
            }
            _ => {}
        }
    }
    None
}

/// Climbs over comments and attributes; a blank line or other code ends the block.
fn start_of_block(source: &Source, function: usize) -> usize {
    let mut start = function;
    while start > 0 {
        let above = start - 1;
        if source.is_comment(above) {
            start = above;
        } else if let Some(attribute) = start_of_attribute(source, above) {
            start = attribute;
        } else {
            break;
        }
    }
    start
}

/// The line where the attribute that ends on `line` begins. An attribute may span several lines.
fn start_of_attribute(source: &Source, line: usize) -> Option<usize> {
    if !source.code[line].trim_end().ends_with(']') {
        return None;
    }
    let mut open = 0_i32;
    for index in (0..=line).rev() {
        let code = source.code[index].trim();
        for c in code.chars() {
            open += i32::from(c == ']') - i32::from(c == '[');
        }
        if open <= 0 {
            return code.starts_with("#[").then_some(index);
        }
    }
    None
}

fn is_test(attributes: &str) -> bool {
    let paths: Vec<&str> = attributes.split("#[").skip(1).map(attribute_path).collect();
    // An ignored test does not run, so it proves nothing.
    !paths.contains(&"ignore") && paths.iter().any(|path| path.rsplit("::").next() == Some("test"))
}

fn attribute_path(attribute: &str) -> &str {
    let end = attribute.find(|c: char| !is_word_character(c) && c != ':');
    &attribute[..end.unwrap_or(attribute.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<Function> {
        functions(&Source::new("a.rs", text))
    }

    #[test]
    fn a_function_reaches_from_its_signature_to_its_closing_brace() {
        let text = "/// Doc.\n#[must_use]\nfn f(\n    a: [u8; 2],\n) -> u8 {\n    { 1 }\n}\n";
        let all = found(text);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].block, all[0].first, all[0].last), (0, 2, 6));
        assert_eq!(all[0].length(), 5);
    }

    #[test]
    fn a_declaration_and_a_function_type_are_no_functions() {
        assert_eq!(found("trait T { fn f(&self); }\nstruct S(fn(u8) -> u8);\n"), vec![]);
    }

    #[test]
    fn a_test_is_known_by_its_attribute() {
        let runs = |text: &str| found(text)[0].is_test;
        assert!(runs("#[test]\nfn f() {}"));
        assert!(runs("#[tokio::test(flavor = \"multi_thread\")]\nasync fn f() {}"));
        assert!(runs("proptest! {\n    #[test]\n    fn f(a in 0..9u8) { g(a) }\n}"));
        assert!(!runs("#[cfg(test)]\nfn f() {}"));
        assert!(!runs("// #[test]\nfn f() {}"));
        assert!(!runs("#[test]\n#[ignore = \"slow\"]\nfn f() {}"));
    }

    #[test]
    fn the_block_above_ends_at_a_blank_line() {
        let text =
            "// far\n\n// near\n#[cfg_attr(\n    unix,\n    test\n)]\n// nearer\nfn f() {}\n";
        assert_eq!(found(text)[0].block, 2);
    }
}
