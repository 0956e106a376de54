//! From text to nodes, with every limit enforced while reading and not afterwards.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};

use super::{Entry, Kind, Node, plain_value};
use crate::problem::{Position, Problem, index_path, key_path, quoted, utf8};

const INPUT_BYTES_MAX: usize = 256 * 1024;
const DEPTH_MAX: usize = 64;
const NODES_MAX: usize = 20_000;
const ALIASES_MAX: usize = 100;

/// The text of all nodes, aliases expanded: a long text behind many aliases is a bomb as well.
const TEXT_BYTES_MAX: usize = 4 * INPUT_BYTES_MAX;

/// Reads one YAML document.
///
/// # Errors
///
/// The first fault of the text, with its line and column. Faults of meaning are for the reader of
/// the fields, who reports all of them.
pub fn read(bytes: &[u8]) -> Result<Node, Problem> {
    if bytes.len() > INPUT_BYTES_MAX {
        let message = format!("the document has {} bytes", bytes.len());
        return Err(Problem::new("too_large", message).help("256 KiB are allowed"));
    }
    let text = utf8(bytes)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser::new_from_str(text);
    let mut builder = Builder::default();
    while let Some(next) = parser.next_event() {
        let (event, span) = next.map_err(|error| builder.syntax(&error))?;
        builder.take(event, span)?;
    }
    builder.finish()
}

/// The parser counts lines from 1 and columns from 0.
fn position(marker: &Marker) -> Position {
    Position::counted(marker.line(), marker.col() + 1)
}

/// A list or an object whose end has not been read.
struct Open {
    content: Content,
    position: Position,
    anchor: usize,
}

enum Content {
    Sequence(Vec<Node>),
    Mapping(Mapping),
}

#[derive(Default)]
struct Mapping {
    entries: Vec<Entry>,
    keys: BTreeMap<String, Position>,
    /// The key whose value comes next.
    pending: Option<(String, Position)>,
}

/// Puts a tree together from the parser's events. The open lists and objects are a stack of ours,
/// so no input can exhaust the program's own.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
    anchors: BTreeMap<usize, Node>,
    aliases: usize,
    nodes: usize,
    text_bytes: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        let at = position(&span.start);
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => self.begin_document(at),
            Event::Scalar(.., Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => Err(self
                .problem("tag", "tags such as !!str are not allowed", at)
                .help("remove the tag, and quote a value that must be text")),
            Event::Scalar(text, style, anchor, None) => {
                self.scalar(text.into_owned(), style == ScalarStyle::Plain, anchor, at)
            }
            Event::SequenceStart(anchor, None) => {
                self.open(Content::Sequence(Vec::new()), anchor, at)
            }
            Event::MappingStart(anchor, None) => {
                self.open(Content::Mapping(Mapping::default()), anchor, at)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => self.alias(anchor, at),
        }
    }

    fn begin_document(&self, at: Position) -> Result<(), Problem> {
        if self.root.is_none() {
            return Ok(());
        }
        let message = "a second document begins here, and only one is allowed";
        Err(self.problem("several_documents", message, at).help("put it into a file of its own"))
    }

    fn scalar(
        &mut self,
        text: String,
        plain: bool,
        anchor: usize,
        at: Position,
    ) -> Result<(), Problem> {
        self.charge(1, text.len(), at)?;
        if let Some(Open { content: Content::Mapping(mapping), .. }) = self.open.last()
            && mapping.pending.is_none()
        {
            return self.key(text, plain, at);
        }
        let node = Node { kind: Kind::Scalar { text, plain }, position: at };
        self.complete(node, anchor)
    }

    fn key(&mut self, text: String, plain: bool, at: Position) -> Result<(), Problem> {
        if plain && text == "<<" {
            return Err(self
                .problem("merge_key", "merge keys (<<) are not allowed", at)
                .help("write the fields out"));
        }
        if plain && !plain_value(&text).is_string() {
            let message = format!("the key {} is not text", quoted(&text));
            return Err(self.problem("key_not_text", message, at).help("put it in quotes"));
        }
        let Some(Open { content: Content::Mapping(mapping), .. }) = self.open.last_mut() else {
            unreachable!("a key is read only in an open mapping");
        };
        let first = mapping.keys.insert(text.clone(), at);
        if let Some(first) = first {
            let message = format!("the key {} appears twice in this object", quoted(&text));
            return Err(self
                .problem("duplicate_key", message, at)
                .help(format!("the first one is at {}:{}", first.line, first.column)));
        }
        mapping.pending = Some((text, at));
        Ok(())
    }

    fn open(&mut self, content: Content, anchor: usize, at: Position) -> Result<(), Problem> {
        self.refuse_as_key(at)?;
        self.charge(1, 0, at)?;
        self.check_depth(1, at)?;
        self.open.push(Open { content, position: at, anchor });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Problem> {
        let Open { content, position, anchor } =
            self.open.pop().expect("the parser closes only what it opened");
        let kind = match content {
            Content::Sequence(items) => Kind::Sequence(items),
            Content::Mapping(mapping) => Kind::Mapping(mapping.entries),
        };
        self.complete(Node { kind, position }, anchor)
    }

    fn alias(&mut self, anchor: usize, at: Position) -> Result<(), Problem> {
        self.refuse_as_key(at)?;
        self.aliases += 1;
        if self.aliases > ALIASES_MAX {
            let message = format!("the document has more than {ALIASES_MAX} aliases");
            return Err(self.problem("too_many_aliases", message, at));
        }
        // An anchor is known once its value is complete, so a value cannot contain itself.
        let Some(target) = self.anchors.get(&anchor) else {
            let message = "this alias refers to a value that contains it";
            return Err(self.problem("endless_alias", message, at));
        };
        let size = Size::of(target);
        let mut node = target.clone();
        node.position = at;
        self.check_depth(size.depth, at)?;
        self.charge(size.nodes, size.text_bytes, at)?;
        self.attach(node);
        Ok(())
    }

    /// Keeps a copy of an anchored value, which counts like any other, and puts it in its place.
    fn complete(&mut self, node: Node, anchor: usize) -> Result<(), Problem> {
        // The parser numbers anchors from 1.
        if anchor > 0 {
            let size = Size::of(&node);
            self.charge(size.nodes, size.text_bytes, node.position)?;
            self.anchors.insert(anchor, node.clone());
        }
        self.attach(node);
        Ok(())
    }

    fn attach(&mut self, value: Node) {
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(value),
            Some(Content::Sequence(items)) => items.push(value),
            Some(Content::Mapping(mapping)) => {
                let (key, key_position) =
                    mapping.pending.take().expect("the parser gives a key before its value");
                mapping.entries.push(Entry { key, key_position, value });
            }
        }
    }

    fn refuse_as_key(&self, at: Position) -> Result<(), Problem> {
        match self.open.last() {
            Some(Open { content: Content::Mapping(mapping), .. }) if mapping.pending.is_none() => {
                // What YAML takes for an object within an object is most often a bare placeholder.
                let help = "if this is a placeholder, put the whole value in quotes: \"{{name}}\"";
                Err(self.problem("key_not_text", "a key must be text", at).help(help))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn syntax(&self, error: &ScanError) -> Problem {
        let at = position(error.marker());
        // The parser reads ahead, and has a limit of its own that it may meet before we meet ours.
        if error.info() == "recursion limit exceeded" {
            return self.too_deep(at);
        }
        self.problem("yaml_syntax", format!("this is not YAML: {}", error.info()), at)
    }

    fn too_deep(&self, at: Position) -> Problem {
        let message = format!("this is nested more than {DEPTH_MAX} levels deep");
        self.problem("too_deep", message, at)
    }

    fn check_depth(&self, added: usize, at: Position) -> Result<(), Problem> {
        if self.open.len() + added > DEPTH_MAX {
            return Err(self.too_deep(at));
        }
        Ok(())
    }

    fn charge(&mut self, nodes: usize, text_bytes: usize, at: Position) -> Result<(), Problem> {
        self.nodes += nodes;
        self.text_bytes += text_bytes;
        if self.nodes > NODES_MAX || self.text_bytes > TEXT_BYTES_MAX {
            let message = "the document is too large once its aliases are expanded";
            let help = format!("{NODES_MAX} values and 1 MiB of text are allowed");
            return Err(self.problem("too_large", message, at).help(help));
        }
        Ok(())
    }

    fn problem(&self, code: &'static str, message: impl Into<String>, at: Position) -> Problem {
        Problem::new(code, message).at(self.path()).on(at)
    }

    /// The path of the value that is being read.
    fn path(&self) -> String {
        self.open.iter().fold(String::new(), |path, open| match &open.content {
            Content::Sequence(items) => index_path(&path, items.len()),
            Content::Mapping(Mapping { pending: Some((key, _)), .. }) => key_path(&path, key),
            Content::Mapping(Mapping { pending: None, .. }) => path,
        })
    }

    fn finish(self) -> Result<Node, Problem> {
        match self.root {
            Some(root) if root.plain().is_none_or(|text| !plain_value(text).is_null()) => Ok(root),
            Some(_) | None => Err(Problem::new("empty_document", "the document is empty")),
        }
    }
}

struct Size {
    nodes: usize,
    text_bytes: usize,
    /// Lists and objects within one another; a scalar has none.
    depth: usize,
}

impl Size {
    fn of(node: &Node) -> Self {
        match &node.kind {
            Kind::Scalar { text, .. } => Self { nodes: 1, text_bytes: text.len(), depth: 0 },
            Kind::Sequence(items) => items.iter().fold(Self::CONTAINER, Self::with),
            Kind::Mapping(entries) => entries.iter().fold(Self::CONTAINER, |size, entry| {
                let text_bytes = size.text_bytes + entry.key.len();
                Self { nodes: size.nodes + 1, text_bytes, ..size }.with(&entry.value)
            }),
        }
    }

    const CONTAINER: Self = Self { nodes: 1, text_bytes: 0, depth: 1 };

    fn with(self, inner: &Node) -> Self {
        let inner = Self::of(inner);
        Self {
            nodes: self.nodes + inner.nodes,
            text_bytes: self.text_bytes + inner.text_bytes,
            depth: self.depth.max(inner.depth + 1),
        }
    }
}
