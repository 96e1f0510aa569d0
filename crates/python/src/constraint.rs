//! `Constraint`: what a text must be, compiled for a vocabulary.

use std::sync::Arc;

use fsm_index::{AfterEnd, ByteDfa, Guide, Index, IndexConfig, Landing, TokenId};
use grammar::{Grammar, GrammarAutomaton};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use response_parser::{Family, ResponseTemplate};
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::ledger::{Entry, Status};
use schema_regex::{
    AdditionalMembers, Caps, Escapes, Formats, IntegerSpelling, OneOf, Options, ParseOptions,
    PropertyOrder, Settings, UnknownKeywords, Whitespace, parse_str_with,
};
use serde_json::{Value, json};
use structural_tags::{
    Content, Count, Presence, Reasoning, ResponseFormat, StructuralTag, TagAutomaton,
};

use crate::error::{IntoPython, detached, of_kind};
use crate::json;
use crate::matcher::{Matcher, Steps};
use crate::vocabulary::{Vocabulary, token_ids};

/// What a text must be, compiled for a vocabulary. Immutable; any number of matchers on any
/// number of threads share it, and the masks that are known.
#[pyclass(frozen, module = "tokenmold")]
pub(crate) struct Constraint {
    pub(crate) compiled: Arc<Compiled>,
}

/// A description with what was compiled of it.
pub(crate) struct Compiled {
    /// The description: JSON, the same for the same constraint.
    description: String,
    vocabulary: Py<Vocabulary>,
    index: Indexed,
}

/// An index over one of the automata.
enum Indexed {
    Schema(Arc<Index<SchemaAutomaton>>),
    Regex(Arc<Index<ByteDfa>>),
    Tags(Arc<Index<TagAutomaton>>),
    Grammar(Arc<Index<GrammarAutomaton>>),
}

/// What a saved constraint begins with.
const MAGIC: &str = "tokenmold constraint 1";

/// Bytes that a node of a schema's automaton takes, about. By this and the next, 2,983 schemas of
/// MaskBench take 150 MiB, where 120 MiB were resident.
const NODE_BYTES: usize = 1_000;

/// Bytes that a compiled schema takes for each byte of its text, about.
const TEXT_BYTES: usize = 12;

impl Compiled {
    /// Compiles a description: `kind`, and what that kind takes. The interpreter's lock is not
    /// needed. Rows of masks take `max_row_bytes` at most.
    pub(crate) fn new(
        description: &Value,
        vocabulary: Py<Vocabulary>,
        max_row_bytes: usize,
    ) -> PyResult<Compiled> {
        let tokens = &vocabulary.get().tokens;
        let config = IndexConfig {
            max_row_bytes,
            fill: fsm_index::Fill::Lazy,
            ..IndexConfig::default()
        };
        let tags = |automaton: Result<TagAutomaton, structural_tags::Error>| {
            let automaton = automaton.map_err(IntoPython::into_python)?;
            let index = Index::lazy(automaton, tokens, &config);
            PyResult::Ok(Indexed::Tags(Arc::new(
                index.map_err(IntoPython::into_python)?,
            )))
        };
        let regex = |pattern: &str| {
            let index = Index::with_config(pattern, tokens, &fsm_index::Config::default(), &config);
            PyResult::Ok(Indexed::Regex(Arc::new(
                index.map_err(IntoPython::into_python)?,
            )))
        };
        let index = match text(description, "kind")? {
            "json_schema" => {
                let options = options_of(description)?;
                let settings = match description["settings"].as_str() {
                    // What was saved before there was a choice.
                    None => Settings::Ignore,
                    Some(given) => {
                        let known = [("ignore", Settings::Ignore), ("follow", Settings::Follow)];
                        one_of("settings", given, &known)?
                    }
                };
                let mut reading = ParseOptions::default().with_settings(settings);
                reading.max_nodes = limit(description, "max_nodes", reading.max_nodes)?;
                for (uri, document) in description["documents"].as_object().into_iter().flatten() {
                    let text = document.as_str().ok_or_else(damaged)?;
                    let read = reading.documents.insert_str(uri, text);
                    read.map_err(|e| of_kind("invalid", format!("the document {uri:?}: {e}")))?;
                }
                let schema = parse_str_with(text(description, "schema")?, &reading)
                    .map_err(IntoPython::into_python)?;
                let automaton =
                    SchemaAutomaton::compile(schema, &options).map_err(IntoPython::into_python)?;
                let index =
                    Index::lazy(automaton, tokens, &config).map_err(IntoPython::into_python)?;
                Indexed::Schema(Arc::new(index))
            }
            "regex" => regex(text(description, "pattern")?)?,
            "choice" => {
                let texts = description["texts"].as_array().ok_or_else(damaged)?;
                let texts: Option<Vec<String>> = texts
                    .iter()
                    .map(|text| Some(regex_syntax::escape(text.as_str()?)))
                    .collect();
                let texts = texts.ok_or_else(damaged)?;
                if texts.is_empty() {
                    return Err(of_kind(
                        "invalid",
                        "a choice of no texts has none to choose; name at least one",
                    ));
                }
                regex(&format!("(?:{})", texts.join("|")))?
            }
            "grammar" => {
                let (text, dialect) = (text(description, "text")?, text(description, "dialect")?);
                let config_of_text = grammar::Config::default();
                let automaton = match dialect {
                    "regex" => Grammar::from_regex(text, &config_of_text),
                    name => name
                        .parse()
                        .and_then(|dialect| Grammar::compile(text, dialect, &config_of_text)),
                };
                let automaton = automaton.map_err(IntoPython::into_python)?;
                let index =
                    Index::lazy(automaton, tokens, &config).map_err(IntoPython::into_python)?;
                Indexed::Grammar(Arc::new(index))
            }
            "structural_tag" => {
                let tag = StructuralTag::from_json(text(description, "tag")?)
                    .map_err(IntoPython::into_python)?;
                tags(tag.compile(tokens))?
            }
            "response_format" => tags(response_format(description)?.compile(tokens))?,
            _ => return Err(damaged()),
        };
        Ok(Compiled {
            description: description.to_string(),
            vocabulary,
            index,
        })
    }

    /// Keywords that constrain nothing although their writer may think so, a line for each.
    pub(crate) fn notices(&self) -> Vec<String> {
        let Indexed::Schema(index) = &self.index else {
            return Vec::new();
        };
        let entries = index.automaton().notices();
        let line = |entry: &Entry| Some(format!("#{}: {}", entry.pointer, entry.notice()?));
        entries.iter().filter_map(line).collect()
    }

    /// Bytes that it takes: rows as they are, the automaton by its size, about. It grows as
    /// masks are asked for.
    pub(crate) fn memory(&self) -> usize {
        let own = self.description.len();
        own + match &self.index {
            Indexed::Schema(index) => {
                index.stats().row_bytes + index.automaton().nodes() * NODE_BYTES + own * TEXT_BYTES
            }
            Indexed::Tags(index) => {
                index.stats().row_bytes + index.automaton().parts() * NODE_BYTES + own * TEXT_BYTES
            }
            Indexed::Regex(index) => index.stats().row_bytes + index.automaton().memory(),
            Indexed::Grammar(index) => index.stats().row_bytes + index.automaton().memory(),
        }
    }

    fn guide(&self, start: &Start) -> PyResult<Box<dyn Steps>> {
        match &self.index {
            Indexed::Schema(index) => boxed(Guide::new(index.clone()), start),
            Indexed::Regex(index) => boxed(Guide::new(index.clone()), start),
            Indexed::Tags(index) => boxed(Guide::new(index.clone()), start),
            Indexed::Grammar(index) => boxed(Guide::new(index.clone()), start),
        }
    }

    pub(crate) fn tokens(&self) -> &fsm_index::Vocabulary {
        &self.vocabulary.get().tokens
    }
}

/// How a text begins, beside its constraint.
#[derive(Default)]
struct Start {
    /// The tokens that end it, where they are not the vocabulary's.
    ends: Option<Vec<TokenId>>,
    after_end: AfterEnd,
    /// How many tokens it may have, those that end it not counted.
    max_tokens: Option<usize>,
    landing: Landing,
}

fn boxed<A>(mut guide: Guide<A>, start: &Start) -> PyResult<Box<dyn Steps>>
where
    A: fsm_index::ByteAutomaton + 'static,
    Guide<A>: Steps,
{
    let into = IntoPython::into_python;
    if let Some(ends) = &start.ends {
        guide = guide.with_end_tokens(ends.iter().copied()).map_err(into)?;
    }
    if let Some(tokens) = start.max_tokens {
        guide = guide.with_budget(tokens).map_err(into)?;
        guide = guide.with_landing(start.landing);
    }
    Ok(Box::new(guide.with_after_end(start.after_end)))
}

/// How a text with a budget comes to its end: by a word, or a number of tokens.
pub(crate) fn landing_of(given: &Bound<'_, PyAny>) -> PyResult<Landing> {
    if let Ok(tokens) = given.extract::<usize>() {
        return Ok(Landing::Within(tokens));
    }
    let given: String = given.extract()?;
    let known = [("soft", Landing::Soft), ("hard", Landing::Hard)];
    one_of("landing, if no number of tokens,", &given, &known)
}

fn damaged() -> PyErr {
    of_kind("invalid", "the description of the constraint is damaged")
}

fn text<'v>(description: &'v Value, name: &str) -> PyResult<&'v str> {
    description[name].as_str().ok_or_else(damaged)
}

/// A word that stands for one of several things, or says which there are.
fn one_of<T: Copy>(what: &str, given: &str, known: &[(&str, T)]) -> PyResult<T> {
    let found = known.iter().find(|(name, _)| *name == given);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<String> = known.iter().map(|(name, _)| format!("{name:?}")).collect();
        let names = names.join(", ");
        of_kind(
            "bad_option",
            format!("{what} is one of {names}, not {given:?}"),
        )
    })
}

fn options_of(description: &Value) -> PyResult<Options> {
    let whitespace = match text(description, "whitespace")? {
        "flexible" => Whitespace::flexible(),
        given => one_of(
            "whitespace",
            given,
            &[("flexible", 0), ("single", 1), ("compact", 2)],
        )
        .map(|known| match known {
            1 => Whitespace::SingleSpace,
            _ => Whitespace::Compact,
        })?,
    };
    let orders = [
        ("declared", PropertyOrder::Schema),
        ("any", PropertyOrder::Any),
    ];
    let order = one_of("order", text(description, "order")?, &orders)?;
    let additional_members = match description["additional_members"].as_str() {
        // What was saved before there was a choice.
        None => AdditionalMembers::Open,
        Some(given) => {
            let known = [
                ("closed", AdditionalMembers::Closed),
                ("open", AdditionalMembers::Open),
            ];
            one_of("additional_members", given, &known)?
        }
    };
    let mut options = Options::default()
        .with_whitespace(whitespace)
        .with_property_order(order)
        .with_additional_members(additional_members)
        .with_caps(caps_of(description)?);
    if let Some(given) = description["formats"].as_str() {
        options.formats = one_of("formats", given, &Formats::NAMED)?;
    }
    if let Some(given) = description["one_of"].as_str() {
        options.one_of = one_of("one_of", given, &OneOf::NAMED)?;
    }
    if let Some(given) = description["unknown_keywords"].as_str() {
        options.unknown_keywords = one_of("unknown_keywords", given, &UnknownKeywords::NAMED)?;
    }
    if let Some(given) = description["escapes"].as_str() {
        options.escapes = one_of("escapes", given, &Escapes::NAMED)?;
    }
    if let Some(given) = description["integers"].as_str() {
        options.integers = one_of("integers", given, &IntegerSpelling::NAMED)?;
    }
    for (name, option) in [
        ("max_alternatives", &mut options.max_alternatives),
        ("max_automaton_states", &mut options.max_automaton_states),
        ("max_steps", &mut options.max_steps),
        ("max_depth", &mut options.max_depth),
        ("max_nesting", &mut options.max_nesting),
    ] {
        *option = limit(description, name, *option)?;
    }
    Ok(options)
}

/// A limit of a description, or the one that there is otherwise.
fn limit(description: &Value, name: &str, otherwise: usize) -> PyResult<usize> {
    match &description[name] {
        Value::Null => Ok(otherwise),
        given => {
            let number = given.as_u64().and_then(|n| usize::try_from(n).ok());
            let refused = || of_kind("bad_option", format!("{name} is a whole number, or None"));
            number.ok_or_else(refused)
        }
    }
}

/// The caps among the options of a description.
fn caps_of(description: &Value) -> PyResult<Caps> {
    let cap = |name: &str| match &description[name] {
        Value::Null => Ok(None),
        given => {
            let number = given.as_u64().and_then(|n| u32::try_from(n).ok());
            let refused = || {
                let message = format!("{name} is a whole number from 0 to {}, or None", u32::MAX);
                of_kind("bad_option", message)
            };
            number.map(Some).ok_or_else(refused)
        }
    };
    let mut caps = Caps::default();
    caps.length = cap("cap_length")?.map(u64::from);
    caps.items = cap("cap_items")?.map(u64::from);
    caps.depth = cap("cap_depth")?;
    caps.digits = cap("cap_digits")?;
    caps.members = cap("cap_members")?.map(u64::from);
    caps.name_length = cap("cap_name_length")?.map(u64::from);
    Ok(caps)
}

/// What a request without parallel calls asks for.
const AT_MOST_ONE: Count = Count {
    least: 0,
    most: Some(1),
};

/// A response format: a ready-made one by its name, or that of a response template.
fn response_format(description: &Value) -> PyResult<ResponseFormat> {
    let into = IntoPython::into_python;
    let mut format = match &description["format"] {
        Value::String(name) => {
            let known = Family::by_name(name).ok_or_else(|| {
                let names: Vec<&str> = Family::all().map(|f| f.name()).collect();
                let names = names.join(", ");
                of_kind(
                    "invalid",
                    format!("{name:?} is none of the formats {names}"),
                )
            })?;
            ResponseFormat::named(known).map_err(into)?
        }
        template => {
            let template = ResponseTemplate::new(template).map_err(IntoPython::into_python)?;
            ResponseFormat::from_template(&template).map_err(IntoPython::into_python)?
        }
    };
    let options = options_of(description)?;
    format = format.with_options(options.clone());
    if let Some(tools) = description["tools"].as_array() {
        format = format.with_tools(tools).map_err(IntoPython::into_python)?;
    }
    if let Some(calls) = description["calls"].as_str() {
        let known = [
            ("any", Count::ANY),
            ("required", Count::AT_LEAST_ONE),
            ("one", Count::ONE),
            ("at_most_one", AT_MOST_ONE),
            ("none", Count::NONE),
        ];
        format = format.with_calls(one_of("calls", calls, &known)?);
    }
    if let Some(reasoning) = description["reasoning"].as_str() {
        let known = [
            ("absent", Presence::Absent),
            ("optional", Presence::Optional),
            ("required", Presence::Required),
        ];
        let presence = one_of("reasoning", reasoning, &known)?;
        let limit = None;
        format = format.with_reasoning(Reasoning { presence, limit });
    }
    if let Some(answer) = description["answer"].as_str() {
        let schema = json::parse(answer, "the schema of the answer")?;
        let answer = Content::schema_with(&schema, &options).map_err(IntoPython::into_python)?;
        format = format.with_answer(answer);
    }
    if let Some(prompt) = description["prompt"].as_str() {
        format = format.with_prompt(prompt);
    }
    Ok(format)
}

#[pymethods]
impl Constraint {
    /// The constraint that `to_bytes` saved, for the vocabulary that it was compiled for.
    #[staticmethod]
    fn from_bytes(
        py: Python<'_>,
        data: &[u8],
        vocabulary: &Bound<'_, Vocabulary>,
    ) -> PyResult<Constraint> {
        let damaged = || {
            of_kind(
                "bad_file",
                "the bytes are not a saved constraint of this version",
            )
        };
        let text = std::str::from_utf8(data).map_err(|_| damaged())?;
        let (magic, rest) = text.split_once('\n').ok_or_else(damaged)?;
        let (fingerprint, description) = rest.split_once('\n').ok_or_else(damaged)?;
        if magic != MAGIC {
            return Err(damaged());
        }
        let own = format!("{:032x}", vocabulary.get().tokens.fingerprint());
        if own != fingerprint {
            let message = format!(
                "the constraint was compiled for the vocabulary {fingerprint}, not for {own}"
            );
            return Err(of_kind("vocabulary", message));
        }
        let description = json::parse(description, "the description")?;
        let vocabulary = vocabulary.clone().unbind();
        let compiled = detached(py, || {
            Compiled::new(
                &description,
                vocabulary,
                IndexConfig::default().max_row_bytes,
            )
        })?;
        Ok(Constraint {
            compiled: Arc::new(compiled),
        })
    }

    /// The constraint as bytes: what it was compiled from, and which vocabulary it is for.
    /// Compiling again takes less time than reading masks would.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let fingerprint = self.compiled.tokens().fingerprint();
        let description = &self.compiled.description;
        let text = format!("{MAGIC}\n{fingerprint:032x}\n{description}");
        PyBytes::new(py, text.as_bytes())
    }

    /// What it was compiled from: `json_schema`, `regex`, `choice`, `grammar`, `structural_tag` or
    /// `response_format`.
    #[getter]
    fn kind(&self) -> PyResult<String> {
        let description = json::parse(&self.compiled.description, "the description")?;
        Ok(text(&description, "kind")?.to_owned())
    }

    /// The vocabulary that it is compiled for.
    #[getter]
    fn vocabulary(&self, py: Python<'_>) -> Py<Vocabulary> {
        self.compiled.vocabulary.clone_ref(py)
    }

    /// What each keyword of a JSON Schema has become: its pointer, its name, whether it is
    /// `enforced`, an `annotation` or `narrowed`, and why. Empty for other constraints.
    #[getter]
    fn ledger<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let entries = match &self.compiled.index {
            Indexed::Schema(index) => index.automaton().ledger(),
            Indexed::Regex(_) | Indexed::Tags(_) | Indexed::Grammar(_) => Vec::new(),
        };
        let list = PyList::empty(py);
        for entry in entries {
            let notice = entry.notice();
            let Entry {
                pointer,
                keyword,
                status,
                ..
            } = entry;
            let (status, why) = match status {
                Status::Enforced => ("enforced", String::new()),
                Status::Annotation | Status::Ignored(_) => {
                    ("annotation", notice.unwrap_or_default())
                }
                Status::Narrowed(why) => ("narrowed", why),
                Status::Loosened(why) => ("loosened", why),
                Status::Refused(why) => ("refused", why),
                _ => ("other", String::new()),
            };
            let line = PyDict::new(py);
            line.set_item("pointer", pointer)?;
            line.set_item("keyword", keyword)?;
            line.set_item("status", status)?;
            let why = schema_regex::in_words_of(&why, crate::error::argument);
            line.set_item("why", why)?;
            list.append(line)?;
        }
        Ok(list)
    }

    /// Keywords of a JSON Schema that constrain nothing although their writer may think so, a line for
    /// each: keywords that look like misspelt ones, keywords of a later draft, unknown formats,
    /// members that never come. Empty for other constraints.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.compiled.notices()
    }

    /// Bytes that it takes, about; it grows as masks are asked for.
    #[getter]
    fn memory(&self) -> usize {
        self.compiled.memory()
    }

    /// A matcher at the start of a text.
    ///
    /// `ends` are the tokens that end the text, in place of the vocabulary's: tokens that are
    /// text cannot. What comes after an end token is refused, or with `after_end="ignore"`
    /// taken without a change.
    ///
    /// With `max_tokens` the text is complete within so many tokens, those that end it not counted:
    /// only tokens are allowed behind which it can be completed in time. Fewer than the shortest
    /// text takes are an error of the kind `token_budget`, which names their number. `landing`
    /// says how the text comes to its end: `"soft"` begins nothing that the text can do without
    /// within an eighth of the budget, 64 tokens at most, before its end, a number within
    /// so many tokens, `"hard"` ends it as late as it can be.
    #[pyo3(signature = (ends = None, *, after_end = "refuse", max_tokens = None, landing = None))]
    fn matcher(
        slf: &Bound<'_, Self>,
        ends: Option<&Bound<'_, PyAny>>,
        after_end: &str,
        max_tokens: Option<usize>,
        landing: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Matcher> {
        let compiled = &slf.get().compiled;
        let ends = ends.map(token_ids).transpose()?;
        if ends.is_none() && compiled.tokens().ends().is_empty() {
            return Err(of_kind(
                "vocabulary",
                "no token ends a text: name the vocabulary's `ends`, or pass `ends` here",
            ));
        }
        let known = [("refuse", AfterEnd::Refuse), ("ignore", AfterEnd::Ignore)];
        let guide = compiled.guide(&Start {
            ends,
            after_end: one_of("after_end", after_end, &known)?,
            max_tokens,
            landing: landing.map(landing_of).transpose()?.unwrap_or_default(),
        })?;
        Ok(Matcher::new(slf.clone().unbind(), guide))
    }

    /// How many tokens the shortest text takes, those that end it not counted; None where no text
    /// is known that tokens spell.
    #[getter]
    fn tokens_needed(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        detached(py, || {
            Ok(self.compiled.guide(&Start::default())?.tokens_needed())
        })
    }

    /// Whether a whole text is admitted.
    fn is_match(&self, text: &Bound<'_, PyAny>) -> PyResult<bool> {
        let bytes = if let Ok(text) = text.cast::<PyString>() {
            text.to_str()?.as_bytes()
        } else if let Ok(bytes) = text.cast::<PyBytes>() {
            bytes.as_bytes()
        } else {
            return Err(PyTypeError::new_err("a text is str or bytes"));
        };
        detached(text.py(), || {
            Ok(match &self.compiled.index {
                Indexed::Schema(index) => index.automaton().is_match(bytes),
                Indexed::Tags(index) => index.automaton().is_match(bytes),
                Indexed::Regex(index) => index.automaton().accepts(bytes),
                Indexed::Grammar(index) => index.automaton().accepts(bytes),
            })
        })
    }

    fn __repr__(&self) -> PyResult<String> {
        let kind = self.kind()?;
        let text: String = self.compiled.description.chars().take(200).collect();
        Ok(format!("<Constraint {kind} {text}>"))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let read = py.get_type::<Constraint>().getattr("from_bytes")?;
        let arguments = (self.to_bytes(py), self.vocabulary(py)).into_pyobject(py)?;
        PyTuple::new(py, [read, arguments.into_any()])
    }
}

/// Descriptions of constraints, as [`Compiled::new`] takes them.
pub(crate) mod describe {
    use super::{Value, json};

    /// `options` are those of schemas, an object.
    pub(crate) fn json_schema(schema: &str, options: Value) -> Value {
        let mut description = options;
        description["kind"] = "json_schema".into();
        description["schema"] = schema.into();
        description
    }

    pub(crate) fn regex(pattern: &str) -> Value {
        json!({"kind": "regex", "pattern": pattern})
    }

    pub(crate) fn choice(texts: &[String]) -> Value {
        json!({"kind": "choice", "texts": texts})
    }

    pub(crate) fn grammar(text: &str, dialect: &str) -> Value {
        json!({"kind": "grammar", "text": text, "dialect": dialect})
    }

    pub(crate) fn structural_tag(tag: &str) -> Value {
        json!({"kind": "structural_tag", "tag": tag})
    }

    /// `options` are those of the response format, an object.
    pub(crate) fn response_format(format: Value, options: Value) -> Value {
        let mut description = options;
        description["kind"] = "response_format".into();
        description["format"] = format;
        description
    }
}
