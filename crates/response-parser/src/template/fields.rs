//! A response template that was read: its fields, their marks and content parsers.
//!
//! For example, the field `thinking` of `<think>` and `</think>` has two anchors and the parser of
//! texts.

use super::call::Call;
use super::choices::{Language, TemplateRelease};
use super::json_dialect::JsonDialect;
use super::transform::Structure;
use crate::error::{Error, ErrorKind};
use crate::pyre::Pattern;
use crate::text::Text;
use crate::value::Object;

pub(super) struct Template {
    pub(super) defaults: Object<'static>,
    pub(super) fields: Vec<Field>,
    /// The field that takes what no region takes.
    pub(super) implicit: Option<usize>,
    pub(super) start_anchor: Anchor,
    pub(super) language: Language,
    pub(super) release: TemplateRelease,
}

pub(super) struct Field {
    pub(super) name: std::sync::Arc<str>,
    pub(super) pointer: String,
    /// The place of the name among all names, in the order of code points.
    pub(super) rank: usize,
    pub(super) open: Option<Anchor>,
    pub(super) close: Option<Anchor>,
    pub(super) parser: Parser,
    pub(super) repeats: bool,
    pub(super) join: Option<String>,
    pub(super) optional: bool,
    pub(super) transform: Option<Structure>,
    pub(super) transform_each: bool,
    /// The end and the reading of its calls, in the extended language.
    pub(super) call: Option<Call>,
    /// In the extended language: true if its opening is thrown away.
    pub(super) discard: bool,
}

/// The marks that open or close a region, or the prefix's end.
#[derive(Debug)]
pub(super) struct Anchor {
    pub(super) pattern: Pattern,
    pub(super) pointer: String,
    /// A match that ends where the text so far ends may yet become a longer one.
    pub(super) may_grow: bool,
}

/// The way in which the text of a region becomes a value.
pub(super) struct Parser {
    pub(super) pointer: String,
    pub(super) strip: bool,
    pub(super) kind: ParserKind,
}

pub(super) enum ParserKind {
    Text,
    Int,
    Float,
    Bool,
    Json(JsonDialect),
    XmlInline(Box<XmlInline>),
    KvLines(Box<KvLines>),
    CallList,
    /// In the extended language: read by [`Field::call`].
    Call,
    /// In the reference's mode: fails when used.
    Broken(Error),
}

pub(super) struct XmlInline {
    pub(super) pattern: Pattern,
    pub(super) key: Option<usize>,
    pub(super) value: Option<usize>,
    pub(super) value_parser: Option<Parser>,
    pub(super) merge_duplicates: bool,
    /// Decides which values are lists of a key's values.
    pub(super) release: TemplateRelease,
}

pub(super) struct KvLines {
    pub(super) line_sep: String,
    pub(super) kv_sep: String,
    pub(super) value_parser: Option<Parser>,
}

impl Field {
    /// The named groups of what opens a region, by number; behind all groups of the opening come those of what closes it.
    pub(super) fn named(&self) -> impl Iterator<Item = (usize, &str)> {
        let behind = self.groups_of_opening();
        let closing = self.close.iter().flat_map(named);
        let closing = closing.map(move |(group, name)| (behind + group, name));
        self.open.iter().flat_map(named).chain(closing)
    }

    /// Returns the number of groups that what opens a region has, its whole match included.
    pub(super) fn groups_of_opening(&self) -> usize {
        self.open
            .as_ref()
            .map_or(0, |open| open.pattern.names().len())
    }
}

impl Parser {
    /// Tells whether a region's text is only raw material of its value.
    pub(super) fn is_dirty(&self) -> bool {
        matches!(
            self.kind,
            ParserKind::Json(_)
                | ParserKind::XmlInline(_)
                | ParserKind::KvLines(_)
                | ParserKind::CallList
                | ParserKind::Call
        )
    }
}

pub(super) fn empty_separator(pointer: &str) -> Error {
    let message = "line_sep and kv_sep must not be empty";
    Error::new(ErrorKind::EmptySeparator, pointer, message)
}

/// The named groups of an anchor's pattern.
pub(super) fn named(anchor: &Anchor) -> impl Iterator<Item = (usize, &str)> {
    let names = anchor.pattern.names().iter().enumerate();
    names.filter_map(|(group, name)| Some((group, name.as_deref()?)))
}

/// A field's name as a key of the output.
pub(super) fn key(field: &Field) -> Text<'static> {
    Text::plain(field.name.to_string())
}
