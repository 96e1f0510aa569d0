//! From shapes to the text of a regular expression.
//!
//! For example, `{"const": "a"}` becomes the text of the string `"a"` in all its spellings.

pub(crate) mod array;
pub(crate) mod bounded_lengths;
pub(crate) mod further_members;
pub(crate) mod member_sequence;
pub(crate) mod names_not_in;
pub(crate) mod number;
pub(crate) mod object;
pub(crate) mod print;
pub(crate) mod spell;
pub(crate) mod string;
pub(crate) mod witnesses;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use schema_normal::decimal::Decimal;
use schema_normal::ir::signed::Signed;
use schema_normal::ir::{Atom, AtomKind};
use schema_normal::language::re::Re;
use schema_normal::language::white_space::{self, Admitted};
use schema_normal::ledger::Narrowed;
use schema_normal::normal::alternative::{ALL_KINDS, KINDS, Kind, Shape};
use schema_normal::normal::conjunctions::{ANY, ConjId, NONE};
use schema_normal::normal::locations::Locations;
use schema_normal::normal::normaliser::Normaliser;
use schema_normal::normal::search::shapes::shapes_of;
use schema_normal::options::{AnyValue, Caps, Options, Whitespace};
use schema_normal::{Error, ErrorKind};
use serde_json::Value;

/// The units of work of printing a value beside its parts, because a text is made for each.
const VALUE: usize = 40 * schema_normal::budget::STEP;

/// The factor of [`Options::max_regex_bytes`] by which the texts of all locations may be longer
/// together, because they are kept to be put into each other.
const KEPT: usize = 32;

/// The units of work of a literal beside the characters of its strings, because each is escaped.
const LITERAL: usize = 2 * schema_normal::budget::STEP;

/// Text that can stand in a sequence; `None` where nothing satisfies.
pub(crate) type Text = Option<Rc<str>>;

pub(crate) struct Printer<'n> {
    normaliser: &'n mut Normaliser,
    options: Options,
    space: SpaceTexts,
    memo: HashMap<(ConjId, Vec<(ConjId, u32)>), Text>,
    /// The locations that are being printed, outermost first.
    open: Vec<ConjId>,
    /// The conjunctions that were met below themselves.
    recursive: HashSet<ConjId>,
    /// Unrestricted values by depth.
    any: Vec<Rc<str>>,
    /// Names that are not among some others, by those others.
    names: HashMap<Vec<String>, Rc<str>>,
    /// True if recursion was cut off somewhere.
    cut: bool,
    narrowed: Narrowed,
    /// At each location how deep values nest that nothing is said of; the
    /// least, as further members have a level less.
    depths: BTreeMap<String, u32>,
    /// Any character of a string.
    char: String,
    /// The number of bytes that the texts that are remembered have together.
    kept: usize,
}

impl Printer<'_> {
    /// The texts of the values that satisfy a conjunction.
    fn value(&mut self, conj: ConjId) -> Result<Text, Error> {
        let first = self.normaliser.first_of(conj);
        if self.normaliser.budget().is_spent() {
            return Err(self.normaliser.too_many_steps(first, None));
        }
        match conj {
            NONE => return Ok(None),
            ANY => return self.any_value().map(Some),
            _ => {}
        }
        if let Some(value) = constant_of(self.normaliser, conj) {
            let value = value.clone();
            return self.literal(&value).map(|text| Some(text.into()));
        }
        let turns = self.open.iter().filter(|c| **c == conj).count() as u32;
        if turns > 0 {
            self.recursive.insert(conj);
            let Some(depth) = self.options.recursion.levels() else {
                return Err(self.recursive_error(conj));
            };
            if turns > depth {
                self.cut = true;
                let here = self.normaliser.pointer(self.normaliser.first_of(conj));
                let how = format!("followed at most {depth} times below itself");
                self.narrowed.insert((here, "$ref", how));
                return Ok(None);
            }
        }
        let key = (conj, self.context());
        if let Some(known) = self.memo.get(&key) {
            return Ok(known.clone());
        }
        if self.open.len() >= self.options.max_depth {
            return Err(too_deep(
                self.normaliser.pointer(self.normaliser.first_of(conj)),
                &self.options,
            ));
        }
        self.normaliser.work(first, VALUE)?;
        self.open.push(conj);
        let result = self.alternatives(conj);
        self.open.pop();
        let text = result?;
        self.kept += text.as_ref().map_or(0, |text| text.len());
        if self.kept > self.options.max_regex_bytes.saturating_mul(KEPT) {
            return Err(too_long(
                &self.normaliser.pointer(self.normaliser.first_of(conj)),
                &self.options,
            ));
        }
        let key = (conj, self.context());
        self.memo.insert(key, text.clone());
        Ok(text)
    }

    /// Returns the things that the text of a location may depend on beside the location: how often
    /// the recursive ones are open.
    fn context(&self) -> Vec<(ConjId, u32)> {
        let mut out: Vec<(ConjId, u32)> = Vec::new();
        if self.recursive.is_empty() {
            return out;
        }
        for conj in &self.open {
            if self.recursive.contains(conj) {
                match out.iter_mut().find(|(c, _)| c == conj) {
                    Some((_, n)) => *n += 1,
                    None => out.push((*conj, 1)),
                }
            }
        }
        out
    }

    /// Returns the innermost open location.
    fn here(&self) -> String {
        let innermost = self.open.last();
        innermost.map_or(String::new(), |c| {
            self.normaliser.pointer(self.normaliser.first_of(*c))
        })
    }

    /// Notes that something was narrowed here.
    fn narrow(&mut self, keyword: &'static str, how: impl Into<String>) {
        let here = self.here();
        self.narrowed.insert((here, keyword, how.into()));
    }

    fn recursive_error(&self, conj: ConjId) -> Error {
        // Every cycle passes a reference; it is in some location between the
        // two occurrences.
        let from = self.open.iter().position(|c| *c == conj).unwrap_or(0);
        for open in self.open[from..].iter().rev() {
            for part in self.normaliser.conj(*open) {
                let node = self.normaliser.schema().node(part.node);
                let mut atoms = node.atoms().iter();
                if let Some(atom) = atoms.find(|a| matches!(a.kind, AtomKind::Ref(_))) {
                    return Error::at(
                        ErrorKind::Recursive,
                        &node.pointer,
                        atom.keyword,
                        format!(
                            "`{}` is recursive, which no regular expression can follow; choose a depth with Recursion::Unroll",
                            atom.keyword
                        ),
                    );
                }
            }
        }
        Error::new(
            ErrorKind::Recursive,
            self.normaliser.pointer(self.normaliser.first_of(conj)),
            "the schema is recursive here, which no regular expression can follow; choose a depth with Recursion::Unroll",
        )
    }

    fn alternatives(&mut self, conj: ConjId) -> Result<Text, Error> {
        let mut shapes = Vec::with_capacity(KINDS);
        for kind in ALL_KINDS {
            shapes.push((kind, shapes_of(self.normaliser, conj, kind)?));
        }
        if shapes
            .iter()
            .all(|(kind, list)| list.contains(&Shape::any(*kind)))
        {
            return self.any_value().map(Some);
        }
        let mut texts: Vec<String> = Vec::new();
        let mut met: HashSet<String> = HashSet::new();
        let mut total = 0;
        for (kind, list) in &shapes {
            for shape in list.iter() {
                let text = match shape {
                    Shape::Unit => Some(unit(*kind).to_owned()),
                    Shape::Number(n) => number::print(self, conj, n)?,
                    Shape::String(s) => string::print(self, s)?,
                    Shape::Array(a) => array::print(self, conj, a)?,
                    Shape::Object(o) => object::print(self, conj, o)?,
                };
                let Some(text) = text else {
                    continue;
                };
                total += text.len();
                if total > self.options.max_regex_bytes {
                    return Err(too_long(&self.here(), &self.options));
                }
                if met.insert(text.clone()) {
                    texts.push(text);
                }
            }
        }
        match alternation(texts) {
            Some(text) => self.checked(text).map(Some),
            None => Ok(None),
        }
    }

    /// An error where the parts of a text have more bytes together than it may have.
    fn fits(&self, bytes: usize) -> Result<(), Error> {
        match bytes > self.options.max_regex_bytes {
            true => Err(too_long(&self.here(), &self.options)),
            false => Ok(()),
        }
    }

    /// A text, if it is not too long.
    fn checked(&self, text: String) -> Result<Rc<str>, Error> {
        self.fits(text.len())?;
        Ok(text.into())
    }

    /// A value that the schema does not restrict.
    fn any_value(&mut self) -> Result<Rc<str>, Error> {
        self.any_value_less(0)
    }

    /// A value that the schema does not restrict, with fewer levels.
    fn any_value_less(&mut self, less: u32) -> Result<Rc<str>, Error> {
        let AnyValue::Depth(depth) = self.options.any_value else {
            return Err(Error::new(
                ErrorKind::Recursive,
                self.here(),
                "the schema leaves a value unrestricted here (or below), which no regular expression can follow to any depth; restrict it or choose AnyValue::Depth",
            ));
        };
        let depth = depth.saturating_sub(less);
        let here = self.here();
        let least = self.depths.entry(here).or_insert(depth);
        *least = depth.min(*least);
        self.narrow_any();
        // The number of those behind the first one.
        let behind = |cap: Option<u64>| match cap {
            None => "*".to_owned(),
            Some(n) => format!("{{0,{}}}", n.saturating_sub(1)),
        };
        let Caps { items, members, .. } = self.options.caps;
        let (more_items, more_members) = (behind(items), behind(members));
        while self.any.len() <= depth as usize {
            let number = spell::print(
                &schema_normal::language::numbers::expressions::any_number(),
                spell::Spelling::Raw,
            );
            let string = self.any_string();
            let value = self.any_text();
            let text = match self.any.last() {
                None => format!("(?:null|true|false|{number}|{value})"),
                Some(inner) => {
                    let SpaceTexts {
                        inside,
                        comma,
                        colon,
                    } = &self.space;
                    let member = format!("{string}{colon}{inner}");
                    let some = |cap: Option<u64>, one: &str, more: &str| match cap {
                        Some(0) => String::new(),
                        _ => format!("(?:{one}(?:{comma}{one}){more}{inside})?"),
                    };
                    let list = some(items, inner, &more_items);
                    let map = some(members, &member, &more_members);
                    format!(
                        "(?:null|true|false|{number}|{value}|\\[{inside}{list}\\]|\\{{{inside}{map}\\}})"
                    )
                }
            };
            let text = self.checked(text)?;
            self.any.push(text);
        }
        Ok(self.any[depth as usize].clone())
    }

    /// Any string of any length, names among them.
    fn any_string(&self) -> String {
        format!("\"{}*\"", self.char)
    }

    /// Any string as a value.
    fn any_text(&self) -> String {
        match self.options.caps.length {
            None => self.any_string(),
            Some(n) => format!("\"{}{{0,{n}}}\"", self.char),
        }
    }

    fn narrow_any(&mut self) {
        let Caps {
            length,
            items,
            members,
            ..
        } = self.options.caps;
        if let Some(n) = length {
            self.narrow("maxLength", Capped::Length(n));
        }
        if let Some(n) = items {
            self.narrow("maxItems", Capped::Items(n));
        }
        if let Some(n) = members {
            self.narrow("maxProperties", Capped::Members(n));
        }
    }

    /// A JSON string with this value, quotes included.
    fn quoted(&self, text: &str) -> Result<String, Error> {
        self.work(spell::cost(text))?;
        let content = spell::string_content(text, self.options.escapes);
        Ok(format!("\"{content}\""))
    }

    /// The JSON strings whose values an expression matches, quotes included.
    fn string_of(&self, re: &Re) -> String {
        let content = spell::print(re, spell::Spelling::InString(self.options.escapes));
        format!("\"{content}\"")
    }

    /// Charges units of work where the printer is.
    fn work(&self, units: usize) -> Result<(), Error> {
        let here = self.open.last().map(|conj| self.normaliser.first_of(*conj));
        here.map_or(Ok(()), |node| self.normaliser.work(node, units))
    }

    /// One value of no parts, as it stands.
    fn literal(&self, value: &Value) -> Result<String, Error> {
        self.work(LITERAL)?;
        match value {
            Value::Number(n) => match Decimal::from_number(n) {
                Some(d) => {
                    let written = n.is_f64();
                    Ok(number::spelled(&d, written, &self.options))
                }
                None => Err(Error::new(
                    ErrorKind::Refused,
                    self.here(),
                    format!("the number {n} has too many digits"),
                )),
            },
            Value::String(s) => self.quoted(s),
            other => Ok(other.to_string()),
        }
    }
}

/// The text of a kind of which there is one value.
fn unit(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::False => "false",
        _ => "true",
    }
}

/// The items of an array, or the members of an object.
pub(crate) struct Body {
    /// True if there may be none.
    empty: bool,
    /// The texts with some.
    some: Option<String>,
}

impl Body {
    /// The whole array or object, with white space inside of its brackets.
    fn framed(&self, [open, close]: [&str; 2], inside: &str) -> String {
        match (&self.some, self.empty) {
            (None, _) => format!("{open}{inside}{close}"),
            (Some(text), true) => format!("{open}{inside}(?:{text}{inside})?{close}"),
            (Some(text), false) => format!("{open}{inside}{text}{inside}{close}"),
        }
    }
}

/// One of some texts.
fn alternation(mut texts: Vec<String>) -> Option<String> {
    match texts.len() {
        0 => None,
        1 => Some(texts.swap_remove(0)),
        _ => Some(format!("(?:{})", texts.join("|"))),
    }
}

#[cold]
fn too_deep(pointer: String, options: &Options) -> Error {
    Error::new(
        ErrorKind::TooDeep,
        pointer,
        format!(
            "the schema is nested more than {} deep; flatten it or raise Options::max_depth",
            options.max_depth
        ),
    )
}

/// A bound that the options put where the schema has none, as the ledger says it.
pub(crate) enum Capped {
    Length(u64),
    Items(u64),
    Digits(u32),
    Members(u64),
    /// The characters of a name that no keyword has.
    #[cfg(feature = "automaton")]
    Names(u64),
}

impl From<Capped> for String {
    fn from(capped: Capped) -> String {
        let bound = match capped {
            Capped::Length(n) => format!("at most {n} characters"),
            Capped::Items(n) => format!("at most {n} items"),
            Capped::Digits(n) => format!("numbers have at most {n} digits"),
            Capped::Members(n) => format!("at most {n} members"),
            #[cfg(feature = "automaton")]
            Capped::Names(n) => format!("at most {n} characters of a name that no keyword has"),
        };
        bound + ", by the caps of the options"
    }
}

fn too_long(pointer: &str, options: &Options) -> Error {
    Error::new(
        ErrorKind::TooLong,
        pointer,
        format!(
            "the regular expression is longer than {} bytes; restrict the schema, lower AnyValue::Depth or Recursion::Unroll, or raise Options::max_regex_bytes",
            options.max_regex_bytes
        ),
    )
}

/// The whitespace policy as pieces of the expression.
pub(crate) struct SpaceTexts {
    /// After an opening bracket and before a closing one.
    inside: String,
    /// A comma with what may stand around it.
    comma: String,
    /// A colon with what may stand around it.
    colon: String,
}

impl SpaceTexts {
    fn new(policy: &Whitespace) -> Result<SpaceTexts, Error> {
        let plain = |comma: &str, colon: &str| SpaceTexts {
            inside: String::new(),
            comma: comma.into(),
            colon: colon.into(),
        };
        let around = |space: &str| SpaceTexts {
            inside: space.into(),
            comma: format!("{space},{space}"),
            colon: format!("{space}:{space}"),
        };
        Ok(match white_space::admitted(policy)? {
            Admitted::Nothing | Admitted::UpTo(0) => plain(",", ":"),
            Admitted::Blank => plain(", ?", ": ?"),
            Admitted::OneBlank => plain(", ", ": "),
            Admitted::UpTo(1) => around("[ \\t\\n\\r]?"),
            Admitted::UpTo(most) => around(&format!("[ \\t\\n\\r]{{0,{most}}}")),
            Admitted::All(space) => around(&spell::print(&space, spell::Spelling::Raw)),
        })
    }
}

/// Returns the one value of no parts that a conjunction is written as.
fn constant_of(locations: &Locations, conj: ConjId) -> Option<&Value> {
    let [
        Signed {
            node,
            positive: true,
        },
    ] = locations.conj(conj)
    else {
        return None;
    };
    match locations.schema().node(*node).atoms() {
        [
            Atom {
                kind: AtomKind::Values(values),
                ..
            },
        ] => match &values[..] {
            [value] if !value.is_array() && !value.is_object() => Some(value),
            _ => None,
        },
        _ => None,
    }
}
