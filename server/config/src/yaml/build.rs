//! From the parser's events to nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use granit_parser::{
    ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, StructureStyle, Tag,
};

use super::{Content, Entry, MAX_DEPTH, MAX_NODES, Node, Style, scalar};
use crate::problem::{Problem, ProblemKind};
use crate::source::{Place, Source};

/// The tags that YAML itself defines.
const CORE: &str = "tag:yaml.org,2002:";

/// The longest key. Escaped it still fits into what YAML allows before a colon, so that dumps can be read.
const MAX_KEY_BYTES: usize = 160;

/// An anchored node and how many nodes it unfolds to.
type Anchored = (Rc<Node>, usize);

struct Builder<'a> {
    source: &'a Arc<Source>,
    parser: Parser<'a, StrInput<'a>>,
    anchors: BTreeMap<usize, Anchored>,
    nodes: usize,
    depth: usize,
}

/// An event and where it stands.
type Step<'a> = (Event<'a>, Span);

/// What is in a collection, and the byte at which it ends.
type Nested<T> = (Vec<T>, usize);

/// The only document of a source.
pub(super) fn document(source: &Arc<Source>) -> Result<Option<Node>, Problem> {
    let options = granit_parser::options! {
        disallow_directives: true,
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let parser = Parser::new_from_str_with_options(&source.text, options);
    let mut builder = Builder { source, parser, anchors: BTreeMap::new(), nodes: 0, depth: 0 };
    let mut root = None;
    while let Some((event, span)) = builder.step()? {
        match event {
            Event::DocumentStart(..) if root.is_some() => {
                let place = builder.place(span.start, span.end);
                let message = "a second document begins; a file of configuration has one";
                return Err(Problem::at(ProblemKind::Unparsable, &place, message));
            }
            Event::DocumentStart(..) => {
                let step = builder.need()?;
                root = Some(builder.node(step)?);
            }
            _ => {}
        }
    }
    Ok(root)
}

impl<'a> Builder<'a> {
    fn step(&mut self) -> Result<Option<Step<'a>>, Problem> {
        self.parser.next_event().transpose().map_err(|error| self.unparsable(&error))
    }

    fn need(&mut self) -> Result<Step<'a>, Problem> {
        let ended = || Problem::of(ProblemKind::Unparsable, &self.source.name, "ends too early");
        let ended = ended();
        self.step()?.ok_or(ended)
    }

    fn place(&self, start: Marker, end: Marker) -> Place {
        let narrow = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let length = self.source.text.len();
        let at = start.byte_offset().unwrap_or_default().min(length);
        let end = end.byte_offset().unwrap_or(at).clamp(at, length);
        let (line, column) = (narrow(start.line()), narrow(start.col() + 1));
        Place { source: Arc::clone(self.source), line, column, start: at, end }
    }

    fn unparsable(&self, error: &ScanError) -> Problem {
        let place = self.place(*error.marker(), *error.marker());
        if *error.kind() == ErrorKind::UnknownAnchor {
            let message = "an alias names an anchor that does not stand before it";
            return Problem::at(ProblemKind::Unparsable, &place, message);
        }
        let is_tab = matches!(
            error.kind(),
            ErrorKind::TabNotAllowed
                | ErrorKind::TabInBlockIndentation
                | ErrorKind::TabInIndentation
                | ErrorKind::TabInPlainScalar
                | ErrorKind::TabAtBlockScalarStart
        );
        let todo = if is_tab { "; indent with spaces, not with tabs" } else { "" };
        let message = match error.kind() {
            ErrorKind::RecursionLimitExceeded => too_deep(),
            _ => format!("is no YAML: {}{todo}", error.info()),
        };
        Problem::at(ProblemKind::Unparsable, &place, message)
    }

    /// The node that begins with an event.
    fn node(&mut self, (event, span): Step<'a>) -> Result<Node, Problem> {
        let start = span.tag_start().unwrap_or(span.start);
        let place = self.place(start, span.end);
        self.count(&place, 1)?;
        let before = self.nodes - 1;
        let (mut node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (scalar_node(&text, style, tag.as_deref(), place)?, anchor)
            }
            Event::SequenceStart(style, anchor, tag) => {
                let tag = own_tag(tag.as_deref(), "seq", &place)?;
                let (items, end) = self.nested(&place, Self::items)?;
                (collection(Content::List(items), style, tag, (place, end)), anchor)
            }
            Event::MappingStart(style, anchor, tag) => {
                let tag = own_tag(tag.as_deref(), "map", &place)?;
                let (entries, end) = self.nested(&place, Self::entries)?;
                (collection(Content::Map(entries), style, tag, (place, end)), anchor)
            }
            Event::Alias(anchor) => return self.alias(anchor, place),
            _ => return Err(Problem::at(ProblemKind::Unparsable, &place, "a value is missing")),
        };
        if anchor != 0 {
            // The anchor may stand before the tag or after it, and is part of the node.
            node.place.start = anchor_start(&self.source.text, node.place.start);
            self.anchors.insert(anchor, (Rc::new(node.clone()), self.nodes - before));
        }
        Ok(node)
    }

    fn nested<T>(
        &mut self,
        place: &Place,
        read: fn(&mut Self) -> Result<Nested<T>, Problem>,
    ) -> Result<Nested<T>, Problem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Problem::at(ProblemKind::Unparsable, place, too_deep()));
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn items(&mut self) -> Result<Nested<Node>, Problem> {
        let mut items = Vec::new();
        loop {
            match self.need()? {
                (Event::SequenceEnd, span) => return Ok((items, end_of(span))),
                step => items.push(self.node(step)?),
            }
        }
    }

    fn entries(&mut self) -> Result<Nested<Entry>, Problem> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut keys = BTreeSet::new();
        loop {
            let (key, place) = match self.need()? {
                (Event::MappingEnd, span) => return Ok((entries, end_of(span))),
                (event, span) => self.key(&event, span)?,
            };
            if !keys.insert(key.clone()) {
                let first = entries.iter().find(|entry| entry.key == key);
                let line = first.map_or(0, |entry| entry.place.line);
                let message = format!("`{key}` stands here twice; the first is in line {line}");
                return Err(Problem::at(ProblemKind::Unparsable, &place, message).key(key));
            }
            let step = self.need()?;
            let value = self.node(step)?;
            entries.push(Entry { key, place, value });
        }
    }

    fn key(&mut self, event: &Event<'a>, span: Span) -> Result<(String, Place), Problem> {
        let place = self.place(span.start, span.end);
        self.count(&place, 1)?;
        let wrong = |message: &str| Err(Problem::at(ProblemKind::Unparsable, &place, message));
        match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<" => {
                wrong("merge keys (`<<`) are not read; repeat the keys")
            }
            Event::Scalar(_, ScalarStyle::Plain, ..) if place.start == place.end => {
                wrong("a key is missing")
            }
            Event::Scalar(text, ..) if text.len() > MAX_KEY_BYTES => {
                wrong("a key has more than 160 bytes")
            }
            Event::Scalar(text, _, 0, None) => Ok((text.clone().into_owned(), place)),
            Event::Scalar(..) => wrong("keys have neither tags nor anchors"),
            _ => wrong("a key must be a text"),
        }
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<Node, Problem> {
        let Some((node, count)) = self.anchors.get(&anchor).cloned() else {
            let message = "an alias inside its own anchor has no end";
            return Err(Problem::at(ProblemKind::Unparsable, &place, message));
        };
        self.count(&place, count)?;
        let mut node = Node::clone(&node);
        node.place = place;
        node.style = Style::Alias;
        Ok(node)
    }

    fn count(&mut self, place: &Place, nodes: usize) -> Result<(), Problem> {
        self.nodes += nodes;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        let message = format!("there are more than {MAX_NODES} values, aliases unfolded");
        Err(Problem::at(ProblemKind::Unparsable, place, message))
    }
}

fn end_of(span: Span) -> usize {
    span.end.byte_offset().unwrap_or_default()
}

fn collection(
    value: Content,
    style: StructureStyle,
    tag: Option<String>,
    (mut place, end): (Place, usize),
) -> Node {
    let style = match style {
        StructureStyle::Block => Style::Block,
        StructureStyle::Flow => Style::Flow,
    };
    let last = match &value {
        Content::List(items) => items.last().map(|node| node.place.end),
        Content::Map(entries) => entries.last().map(|entry| entry.value.place.end),
        _ => None,
    };
    // A block ends for the parser where the next thing begins; for a person where its last value does.
    place.end = if style == Style::Flow { end } else { last.unwrap_or(end) }.max(place.start);
    Node { value, tag, place, style }
}

fn scalar_node(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    place: Place,
) -> Result<Node, Problem> {
    let is_plain = style == ScalarStyle::Plain;
    let style = if is_plain { Style::Plain } else { Style::Quoted };
    let string = || Content::String(text.to_owned());
    let Some(tag) = tag else {
        let value = if is_plain { scalar::plain(text) } else { Some(string()) };
        let not_finite = || Problem::at(ProblemKind::Unparsable, &place, "is no finite number");
        return Ok(Node { value: value.ok_or_else(not_finite)?, tag: None, style, place });
    };
    let own = tag.suffix_in_namespace(CORE);
    let (value, tag) = match own.as_deref() {
        Some("str") => (string(), None),
        Some(kind @ ("null" | "bool" | "int" | "float")) => {
            let value = scalar::plain(text);
            let fits = matches!(
                (kind, &value),
                ("null", Some(Content::Null))
                    | ("bool", Some(Content::Bool(_)))
                    | ("int" | "float", Some(Content::Number(_)))
            );
            let wrong =
                || Problem::at(ProblemKind::Unparsable, &place, format!("is no `!!{kind}`"));
            (value.filter(|_| fits).ok_or_else(wrong)?, None)
        }
        _ if tag.original() == "!" => (string(), None),
        _ if is_plain => {
            // The bare word of an expression is a text: `!env 8080` names a variable.
            let value = if text.is_empty() { Content::Null } else { string() };
            (value, Some(tag.original()))
        }
        _ => (string(), Some(tag.original())),
    };
    Ok(Node { value, tag, place, style })
}

/// The tag of a collection, but not YAML's own one for it.
fn own_tag(tag: Option<&Tag>, kind: &str, place: &Place) -> Result<Option<String>, Problem> {
    let Some(tag) = tag else { return Ok(None) };
    match tag.suffix_in_namespace(CORE).as_deref() {
        Some(suffix) if suffix == kind => Ok(None),
        Some(suffix @ ("str" | "null" | "bool" | "int" | "float" | "seq" | "map")) => {
            Err(Problem::at(ProblemKind::Unparsable, place, format!("is no `!!{suffix}`")))
        }
        _ if tag.original() == "!" => Ok(None),
        _ => Ok(Some(tag.original())),
    }
}

/// Where a node begins whose anchor stands right before `start`.
fn anchor_start(text: &str, start: usize) -> usize {
    let before = text[..start].trim_end_matches([' ', '\t']);
    let word = before.rfind([' ', '\t', '\n']).map_or(0, |at| at + 1);
    if before[word..].starts_with('&') { word } else { start }
}

fn too_deep() -> String {
    format!("is nested deeper than {MAX_DEPTH} levels")
}
