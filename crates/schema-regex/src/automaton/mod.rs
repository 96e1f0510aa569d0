//! Schemas as byte automata: exact where no regular expression can be.
//!
//! JSON's bytes fix the nesting, so one stack of frames is enough. Each value
//! is read by a *node*: a set of *goals* (conjunctions of schema locations)
//! that somebody above still has use for. The alternatives of a goal are
//! *threads* without choices, side by side; a value that ends says which goals
//! it satisfies, and the threads of the frame below that needed another one are
//! gone. A thread that cannot be finished any more is dropped at once, so what
//! is left is always live.
//!
//! Alternatives of objects that would multiply are no threads: a thread then has *decisions*,
//! diagrams over the members that came and the kinds of their values.

pub(crate) mod compile;
pub(crate) mod completion;
pub(crate) mod explain;
pub(crate) mod hints;
pub(crate) mod keys;
pub(crate) mod machine;
pub(crate) mod run;

use std::sync::{Arc, OnceLock};

use fsm_index::{
    ByteAutomaton, ByteSet, ClassId, Cursor, Description, Ending, Exception, Horizon, KeyLanguage,
    Lexicon, Overlay, Place, PlainText, ReadText, Scope, Stack, TextAt,
};
use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::ir::signed::Signed;
use crate::ir::{NEVER, NodeId, ROOT, Schema};
use crate::ledger::{Entry, Status};
use crate::normal::normaliser::Normaliser;
use crate::options::{AdditionalMembers, Escapes, Options, Target};
use crate::regex::Narrowed;

use self::explain::contradiction::contradiction;
use self::run::scratch::Top;
use crate::normal::alternative::{Kind, Shape};

pub use self::run::scratch::Scratch;
use self::run::state::Load;
pub use self::run::state::State;

/// A schema as a [`ByteAutomaton`].
///
/// The language is that of the schema in the spellings that [`Options`] admit:
/// exactly, without narrowing beyond what [`SchemaAutomaton::ledger`] says.
/// Memory is proportional to the part of the schema that is reached.
///
/// Clones share everything.
#[derive(Clone, Debug)]
pub struct SchemaAutomaton {
    nodes: Arc<[machine::node::Node]>,
    space: Arc<machine::white_space::Space>,
    escapes: Escapes,
    name_escapes: Escapes,
    /// How all values are written.
    dialect: OnceLock<Option<machine::prints::Print>>,
    max_nesting: u32,
    /// The tallest of the flattest values.
    tallest: u32,
    /// Whether the schema itself bounds how deep values nest.
    bounded: bool,
    loops: Arc<machine::loop_classes::Loops>,
    schema: Arc<Schema>,
    narrowed: Arc<Narrowed>,
    /// Locations that no value satisfies, although some satisfies the schema.
    never: Arc<[NodeId]>,
    /// With what the schema overrides.
    options: Arc<Options>,
    /// What the goals of nodes stand for.
    conjs: Arc<crate::normal::conjunctions::Conjs>,
}

impl SchemaAutomaton {
    /// Reads a schema with the default [`crate::ParseOptions`] and compiles it.
    ///
    /// # Errors
    ///
    /// As [`crate::parse`] and [`SchemaAutomaton::compile`].
    ///
    /// ```
    /// use schema_regex::Options;
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use serde_json::json;
    ///
    /// let tree = json!({"type": "array", "items": {"$ref": "#"}, "maxItems": 2});
    /// let automaton = SchemaAutomaton::new(&tree, &Options::default())?;
    /// assert!(automaton.is_match(b"[[], [[]]]") && !automaton.is_match(b"[[], [], []]"));
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn new(schema: &Value, options: &Options) -> Result<SchemaAutomaton, Error> {
        SchemaAutomaton::compile(crate::parse(schema)?, options)
    }

    /// Reads a schema from its text, with all the digits that its numbers have there, and
    /// compiles it.
    ///
    /// # Errors
    ///
    /// As [`crate::parse_str`] and [`SchemaAutomaton::compile`].
    ///
    /// ```
    /// use schema_regex::Options;
    /// use schema_regex::automaton::SchemaAutomaton;
    ///
    /// let schema = r#"{"const": 123456789012345678901234567890}"#;
    /// let automaton = SchemaAutomaton::from_text(schema, &Options::default())?;
    /// assert!(automaton.is_match(b"123456789012345678901234567890"));
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn from_text(schema: &str, options: &Options) -> Result<SchemaAutomaton, Error> {
        SchemaAutomaton::compile(crate::parse_str(schema)?, options)
    }

    /// Compiles a schema. All is decided here: what cannot be enforced is
    /// refused, and whatever the automaton admits can be finished.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Refused`] with keyword and JSON Pointer,
    /// [`ErrorKind::Cyclic`], [`ErrorKind::Unsatisfiable`], or one of the
    /// limits of [`Options`].
    pub fn compile(schema: Schema, options: &Options) -> Result<SchemaAutomaton, Error> {
        match SchemaAutomaton::build_by(schema, options) {
            Err(Failed::Empty(empty)) => {
                let (schema, options) = *empty;
                let at_fault = cap_at_fault(&schema, &options);
                Err(at_fault.unwrap_or_else(|| contradiction(&schema, &options)))
            }
            Err(Failed::Refused(error)) => Err(error),
            Ok(automaton) => Ok(automaton),
        }
    }

    /// Compiles a schema; `None` where no value satisfies it, which is found at once:
    /// [`SchemaAutomaton::compile`] looks for the reason.
    ///
    /// # Errors
    ///
    /// As [`SchemaAutomaton::compile`], but for such a schema.
    ///
    /// ```
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use schema_regex::{Options, parse};
    /// use serde_json::json;
    ///
    /// let none = parse(&json!({"type": "string", "enum": [1]}))?;
    /// assert!(SchemaAutomaton::compile_if_any(none, &Options::default())?.is_none());
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn compile_if_any(
        schema: Schema,
        options: &Options,
    ) -> Result<Option<SchemaAutomaton>, Error> {
        match SchemaAutomaton::build_by(schema, options) {
            Err(Failed::Empty(_)) => Ok(None),
            Err(Failed::Refused(error)) => Err(error),
            Ok(automaton) => Ok(Some(automaton)),
        }
    }

    /// Compiles what some locations demand together, where narrowed formats may
    /// be complemented as they are enforced.
    fn compile_as_enforced(
        schema: Schema,
        options: Options,
        root: &[Signed],
    ) -> Result<SchemaAutomaton, Error> {
        let mut normaliser = Normaliser::new(schema, options, Target::Automaton);
        normaliser.as_enforced = true;
        let (mut automaton, narrowed) = SchemaAutomaton::unbounded(normaliser, root)?;
        let cap = automaton.options.caps.depth;
        automaton.bound_nesting(cap, narrowed)?;
        Ok(automaton)
    }

    /// Compiles a schema by options of which it may override some.
    fn build_by(mut schema: Schema, options: &Options) -> Result<SchemaAutomaton, Failed> {
        let options = schema.options(options);
        schema.refuse_unknown(&options).map_err(Failed::Refused)?;
        schema.annotate(&options);
        SchemaAutomaton::build(schema, options)
    }

    fn build(schema: Schema, mut options: Options) -> Result<SchemaAutomaton, Failed> {
        let normaliser = Normaliser::new(schema, options.clone(), Target::Automaton);
        let (mut automaton, narrowed) =
            SchemaAutomaton::unbounded(normaliser, &[Signed::yes(ROOT)])
                .map_err(Failed::Refused)?;
        let Err(error) = automaton.bound_nesting(options.caps.depth, narrowed) else {
            return Ok(automaton);
        };
        let is_empty = automaton.is_empty();
        let schema = Arc::unwrap_or_clone(automaton.schema);
        // A schema that has no value when it is closed stays as it is written.
        if options.closes() {
            options.additional_members = AdditionalMembers::Open;
            return SchemaAutomaton::build(schema, options);
        }
        Err(match is_empty {
            true => Failed::Empty(Box::new((schema, options))),
            false => Failed::Refused(cap_at_fault(&schema, &options).unwrap_or(error)),
        })
    }

    /// Says whether no value satisfies the schema.
    fn is_empty(&self) -> bool {
        self.nodes[0].heights[0] == machine::node::EMPTY
    }

    /// Compiles what some locations demand together, and what was narrowed for it; how deep
    /// values may nest is not decided yet.
    fn unbounded(
        mut normaliser: Normaliser,
        root: &[Signed],
    ) -> Result<(SchemaAutomaton, Narrowed), Error> {
        let options = normaliser.options.clone();
        let space = machine::white_space::Space::new(&options)?;
        normaliser.refuse_cycles()?;
        let root = normaliser.intern(root);
        let mut builder = compile::builder::Builder::new(normaliser);
        builder.build(root)?;
        let mut narrowed = builder.narrowed;
        narrowed.extend(builder.normaliser.closings());
        let mut nodes = builder.nodes;
        compile::heights::solve(&mut nodes);
        compile::same_nodes::solve(&mut nodes);
        let unique = unique_locations(&builder.normaliser, &nodes);
        let never = empty_locations(&builder.normaliser, &nodes);
        for pattern in &mut builder.normaliser.schema.patterns {
            pattern.forget();
        }
        let mut automaton = SchemaAutomaton {
            conjs: Arc::new(builder.normaliser.conjs),
            tallest: 0,
            bounded: false,
            loops: Arc::new(builder.loops),
            nodes: nodes.into(),
            dialect: OnceLock::new(),
            space: Arc::new(space),
            escapes: options.escapes.in_values(),
            name_escapes: options.escapes.in_names(),
            max_nesting: u32::try_from(options.max_nesting).unwrap_or(u32::MAX - 1),
            schema: Arc::new(builder.normaliser.schema),
            narrowed: Arc::default(),
            never: never.into(),
            options: Arc::new(options),
        };
        automaton.list_values(&unique)?;
        Ok((automaton, narrowed))
    }

    /// Decides how deep values may nest.
    fn bound_nesting(&mut self, cap: Option<u32>, mut narrowed: Narrowed) -> Result<(), Error> {
        let height = self.nodes[0].heights[0];
        let limit = self.max_nesting;
        if height > limit {
            let why = if self.is_empty() {
                "no value satisfies the schema".to_owned()
            } else {
                format!(
                    "every value nests {height} deep or deeper, more than Options::max_nesting ({limit})"
                )
            };
            return Err(Error::new(ErrorKind::Unsatisfiable, "", why));
        }
        let deepest = compile::heights::deepest(&self.nodes);
        // A schema that bounds the nesting by itself is not capped.
        if let (Some(cap), None) = (cap, deepest) {
            self.max_nesting = limit.min(cap.max(height));
        }
        let limit = self.max_nesting;
        self.bounded = deepest.is_some_and(|d| d <= limit);
        if !self.bounded {
            let how = format!("arrays and objects nest at most {limit} deep");
            narrowed.insert((String::new(), "", how));
        }
        self.narrowed = Arc::new(narrowed);
        let heights = self.nodes.iter().flat_map(|n| n.heights.iter().copied());
        self.tallest = heights
            .filter(|h| *h != machine::node::EMPTY)
            .max()
            .unwrap_or(0);
        Ok(())
    }

    /// Compiles a schema and says, also where it is refused, what each keyword
    /// becomes: the one at fault is refused, with the reason.
    ///
    /// # Errors
    ///
    /// The first of the pair is as [`SchemaAutomaton::compile`].
    ///
    /// ```
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use schema_regex::ledger::Status;
    /// use schema_regex::{Options, parse};
    /// use serde_json::json;
    ///
    /// let schema = parse(&json!({"type": "string", "title": "A name"}))?;
    /// let (automaton, ledger) = SchemaAutomaton::explain(schema, &Options::default());
    /// assert!(automaton.is_ok());
    /// let title = ledger.iter().find(|entry| entry.keyword == "title").unwrap();
    /// assert_eq!(title.status, Status::Annotation);
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn explain(
        schema: Schema,
        options: &Options,
    ) -> (Result<SchemaAutomaton, Error>, Vec<Entry>) {
        let read = schema.clone();
        match SchemaAutomaton::compile(schema, options) {
            Ok(automaton) => {
                let ledger = automaton.ledger();
                (Ok(automaton), ledger)
            }
            Err(error) => {
                let ledger = read.entries(&read.options(options), &Narrowed::new(), Some(&error));
                (Err(error), ledger)
            }
        }
    }

    /// What each keyword that the schema reaches has become, in the order in
    /// which locations were met; then what is narrowed beside the keywords: by
    /// caps, and by the bound on nesting (an entry for the root, without a
    /// keyword); then the places that no value satisfies, so that a member never comes or a
    /// branch is never taken.
    pub fn ledger(&self) -> Vec<Entry> {
        let mut entries = self.schema.entries(&self.options, &self.narrowed, None);
        entries.extend(self.empty_places());
        entries
    }

    /// The entries of the ledger about what constrains nothing although the schema's writer may
    /// think so: keywords of a later draft, misspelt ones, unknown formats, places that no
    /// value satisfies. Takes much less time than all of the ledger.
    ///
    /// ```
    /// use schema_regex::Options;
    /// use schema_regex::automaton::SchemaAutomaton;
    /// use serde_json::json;
    ///
    /// let schema = json!({"type": "string", "format": "colour", "maxLength": 9});
    /// let notices = SchemaAutomaton::new(&schema, &Options::default())?.notices();
    /// assert_eq!(notices.len(), 1);
    /// assert_eq!(notices[0].pointer, "/format");
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn notices(&self) -> Vec<Entry> {
        let mut entries = self.schema.notices(&self.options);
        entries.extend(self.empty_places());
        entries
    }

    fn empty_places(&self) -> impl Iterator<Item = Entry> {
        self.never.iter().map(|node| Entry {
            pointer: self.schema.nodes[node.0 as usize].pointer.to_string(),
            keyword: String::new(),
            status: Status::Ignored("no value satisfies this place, so that none comes".to_owned()),
        })
    }

    /// How many sets of conjunctions are asked of values: what memory is
    /// proportional to.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the text may end at a cursor of the walk that `scratch` is in:
    /// what an automaton that reads on behind the value has to know.
    pub fn ends_at_cursor(&self, cursor: Cursor, scratch: &mut Scratch) -> bool {
        if cursor.is_dead() {
            return false;
        }
        let config = *scratch.configs.get(cursor.0);
        self.ends_at(config, scratch)
    }

    /// Whether a state stands inside of a string or of a name: elsewhere nothing but JSON's
    /// own tokens and white space may come next.
    pub fn is_in_text(&self, state: &State) -> bool {
        matches!(state.top, Top::String { .. } | Top::Key(_))
    }

    /// A cursor of the walk that `scratch` is in without the names and words that only single
    /// texts reach: nearly the same may come there. For an automaton that has this one inside
    /// and spells its texts in another way.
    pub fn resembled(&self, cursor: Cursor, scratch: &mut Scratch) -> Option<Cursor> {
        self.like(cursor, scratch)
    }

    /// How many arrays and objects are open around what a walk reads at a cursor.
    pub fn levels_below(&self, cursor: Cursor, scratch: &Scratch) -> usize {
        if cursor.is_dead() {
            return 0;
        }
        scratch.depth(scratch.configs.get(cursor.0).stack) as usize
    }

    /// Whether a text is admitted as a whole.
    pub fn is_match(&self, text: &[u8]) -> bool {
        let mut x = self.scratch();
        // The text tells itself how it goes on: items that must differ are compared at their ends.
        x.searching = true;
        let end = self.read_on(self.first(), text, &mut x);
        end.is_ok_and(|end| self.ends_at(end, &mut x))
    }
}

/// Why a schema was not compiled.
enum Failed {
    Refused(Error),
    /// No value satisfies it, with these options.
    Empty(Box<(Schema, Options)>),
}

/// The error about a schema without a value that has some without one of the caps.
fn cap_at_fault(schema: &Schema, options: &Options) -> Option<Error> {
    for (name, without) in options.caps.each_left_out() {
        let options = options.clone().with_caps(without);
        let normaliser = Normaliser::new(schema.clone(), options, Target::Automaton);
        let made = SchemaAutomaton::unbounded(normaliser, &[Signed::yes(ROOT)]);
        let fits = made
            .and_then(|(mut automaton, narrowed)| automaton.bound_nesting(without.depth, narrowed));
        if fits.is_ok() {
            let why = format!(
                "no value satisfies the schema under the cap `{name}`; raise it or leave it out"
            );
            return Some(Error::new(ErrorKind::Unsatisfiable, "", why));
        }
    }
    None
}

/// The written locations that no value satisfies.
fn empty_locations(normaliser: &Normaliser, nodes: &[machine::node::Node]) -> Vec<NodeId> {
    let mut out: Vec<NodeId> = Vec::new();
    for node in nodes {
        for (goal, height) in node.goals.iter().zip(&node.heights) {
            // What several locations ask together is the fault of none.
            if *height == machine::node::EMPTY
                && let [
                    Signed {
                        node,
                        positive: true,
                    },
                ] = normaliser.conj(*goal)
                && *node != NEVER
            {
                out.push(*node);
            }
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// The nodes with arrays of different items, each with a location that says so.
fn unique_locations(
    normaliser: &Normaliser,
    nodes: &[machine::node::Node],
) -> Vec<(usize, NodeId)> {
    let mut out = Vec::new();
    for (n, node) in nodes.iter().enumerate() {
        if !node.array.as_ref().is_some_and(|m| m.unique) {
            continue;
        }
        let shapes = node
            .goals
            .iter()
            .filter_map(|g| normaliser.known_shapes(*g, Kind::Array));
        let at = shapes.flat_map(|s| s.iter()).find_map(|s| match s {
            Shape::Array(a) => a.unique,
            _ => None,
        });
        out.push((n, at.unwrap_or(ROOT)));
    }
    out
}

impl ByteAutomaton for SchemaAutomaton {
    type State = State;
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        Scratch::new()
    }

    fn start(&self) -> State {
        State::of(self.first())
    }

    fn is_accepting(&self, state: &State) -> bool {
        state.accepting
    }

    fn advance(&self, state: &mut State, bytes: &[u8], x: &mut Scratch) -> Result<(), usize> {
        if self.is_free_text(state, bytes) {
            return Ok(());
        }
        x.tidy();
        if state.item().is_some()
            && let Some(done) = self.advance_apart(state, bytes, x)
        {
            return done;
        }
        let before = self.load(state, x, Load::Text);
        let config = self.read_on(before, bytes, x)?;
        if config != before || !state.is_in(x) {
            self.store(config, &before, state, x);
        }
        Ok(())
    }

    fn completion(&self, state: &State, max_bytes: usize, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        let mut x = Scratch::new();
        let config = self.load(state, &mut x, Load::Text);
        let is_found = self.finish(config, max_bytes, &mut x, out);
        if !is_found {
            out.truncate(before);
        }
        is_found
    }

    fn place(&self, state: &State) -> Option<Place> {
        Some(self.location(state))
    }

    fn enter(&self, state: &State, x: &mut Scratch) -> Cursor {
        x.tidy();
        x.configs.clear();
        let config = self.load(state, x, Load::Walk);
        Cursor(x.configs.add(config))
    }

    fn step(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Cursor {
        if cursor.is_dead() {
            return Cursor::DEAD;
        }
        let config = *x.configs.get(cursor.0);
        match self.next(config, byte, x) {
            Some(next) => Cursor(x.configs.add(next)),
            None => Cursor::DEAD,
        }
    }

    fn describe(&self, cursor: Cursor, horizon: Horizon<'_>, x: &mut Scratch) -> Description {
        self.description(cursor, horizon, x)
    }

    fn key(
        &self,
        cursor: Cursor,
        scope: Scope,
        depth: usize,
        horizon: Horizon<'_>,
        x: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        match scope {
            Scope::Index => self
                .key_of(cursor, depth, horizon, x, out)
                .then_some(KeyLanguage::OWN),
            Scope::Vocabulary => self.common_at(cursor, depth, horizon, x, out),
        }
    }

    fn next_bytes(&self, cursor: Cursor, x: &mut Scratch) -> ByteSet {
        self.bytes_at(cursor, x)
    }

    fn overlay(&self) -> Option<&dyn Overlay<State>> {
        Some(self)
    }

    fn plain_text(&self) -> Option<&dyn PlainText<Scratch>> {
        Some(self)
    }

    fn stack(&self) -> Option<&dyn Stack<Scratch>> {
        Some(self)
    }

    fn ending(&self) -> Option<&dyn Ending<Scratch>> {
        Some(self)
    }
}

impl Overlay<State> for SchemaAutomaton {
    /// An item that must differ may become one of those before it, or the next
    /// ones may; and a name that is open may come again behind its own end, within one token:
    /// a walk does not know how they began.
    fn exceptions(&self, state: &State, each: &mut dyn FnMut(Exception<'_>)) {
        if state.is_in_name() {
            // Its end, and the name between its quotes.
            each(Exception::Often {
                byte: b'"',
                times: 3,
            });
        }
        if state.item().is_some() {
            self.item_exceptions(state, each);
        }
    }

    fn is_suspect(&self, state: &State, token: &[u8]) -> bool {
        (state.is_in_name() && self.may_come_again(state, token)) || self.may_double(state, token)
    }
}

impl PlainText<Scratch> for SchemaAutomaton {
    fn lexicon(&self) -> Lexicon {
        SchemaAutomaton::LEXICON
    }

    fn class(&self, class: ClassId) -> &[(u32, u32)] {
        self.loops.ranges(class)
    }

    fn reader(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        x: &mut Scratch,
    ) -> Option<Box<dyn ReadText + '_>> {
        self.reader_at(cursor, horizon, x)
    }

    fn cursor_at(&self, cursor: Cursor, at: TextAt, x: &mut Scratch) -> Cursor {
        self.behind_text(cursor, at, x)
    }

    fn can_do_without(&self, chars: &[(u32, u32)]) -> bool {
        self.is_fine_without(chars)
    }
}

impl Stack<Scratch> for SchemaAutomaton {
    fn depth_used(&self, x: &Scratch) -> usize {
        (x.base_depth - x.least_depth) as usize + 1
    }
    fn least_depth(&self, cursor: Cursor, x: &Scratch) -> usize {
        // A token can end what is on top of most arrays and objects.
        match x.configs.get(cursor.0).stack {
            0 => 1,
            _ => 2,
        }
    }

    fn step_on_top(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Option<Cursor> {
        let least = std::mem::replace(&mut x.least_depth, x.base_depth);
        let to = self.step(cursor, byte, x);
        let on_top = x.least_depth == x.base_depth;
        x.least_depth = least;
        on_top.then_some(to)
    }

    fn next_bytes_on_top(&self, cursor: Cursor, x: &mut Scratch) -> ByteSet {
        let least = std::mem::replace(&mut x.least_depth, x.base_depth);
        let bytes = self.bytes_at(cursor, x);
        let on_top = x.least_depth == x.base_depth;
        x.least_depth = least;
        match on_top {
            true => bytes,
            false => ByteSet::ALL,
        }
    }
}
