//! The kinds of constraint, and what each is for a vocabulary.
//!
//! For example, [`Automaton::Regex`] becomes an [`Index`](fsm_index::Index) over a table of
//! states, and [`Automaton::Schema`] one over the automaton of the schema.

use std::path::PathBuf;
use std::sync::Arc;

use fsm_index::{ByteAutomaton, Config, Fill, Index, IndexConfig, Vocabulary};
use grammar::GrammarAutomaton;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::ledger::Entry;
use schema_regex::{Options, Schema};
use structural_tags::{Content, ResponseFormat, StructuralTag, TagAutomaton};

use crate::compiled::{Constraint, Size};
use crate::error::Error;

/// A constraint that no vocabulary is known of yet.
///
/// ```
/// use constraint::Automaton;
/// use fsm_index::{IndexConfig, TokenId, Vocabulary};
///
/// let tokens = [(&b"a"[..], TokenId::new(0))];
/// let vocabulary = Vocabulary::new(tokens, [TokenId::new(1)])?;
/// let automaton = Automaton::Regex("a{3}".to_owned());
/// let constraint = automaton.index(&vocabulary, &IndexConfig::default())?;
/// assert!(constraint.is_match(b"aaa"));
/// # Ok::<(), constraint::Error>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Automaton {
    /// A JSON Schema.
    Schema(SchemaAutomaton),
    /// A regular expression for the whole text, in the syntax of Rust's `regex` crate.
    Regex(String),
    /// An index of a regular expression that [`Index::save`] wrote.
    Saved(PathBuf),
    /// A grammar.
    Grammar(GrammarAutomaton),
    /// A structural tag.
    Tag(Box<StructuralTag>),
    /// The response format of a model.
    Response(Box<ResponseFormat>),
}

/// Bytes that a node of a schema's automaton takes, about: by this and
/// [`TEXT_BYTES`], 2,983 schemas of MaskBench take 150 MiB, because 120 MiB were resident.
const NODE_BYTES: usize = 1_000;

/// Bytes that a compiled schema takes for each byte of its text, about; measured with
/// [`NODE_BYTES`], because pointers and names are kept for messages.
const TEXT_BYTES: usize = 12;

impl Automaton {
    /// Compiles a JSON Schema.
    pub(crate) fn of_schema(schema: Schema, options: &Options) -> Result<Automaton, Error> {
        Ok(Automaton::Schema(SchemaAutomaton::compile(
            schema, options,
        )?))
    }

    /// Returns what each keyword of a JSON Schema has become; nothing for other constraints.
    pub fn ledger(&self) -> Vec<Entry> {
        match self {
            Automaton::Schema(automaton) => automaton.ledger(),
            _ => Vec::new(),
        }
    }

    /// Returns the constraint as the content of a message that may also be calls of tools; none
    /// for those that can only bind a whole text.
    ///
    /// # Errors
    ///
    /// [`Error::Tags`]: the expression is refused.
    pub fn content(&self) -> Result<Option<Content>, Error> {
        match self {
            Automaton::Schema(automaton) => Ok(Some(Content::from(automaton.clone()))),
            Automaton::Regex(pattern) => Ok(Some(Content::regex(pattern)?)),
            _ => Ok(None),
        }
    }

    /// Joins the automaton with a vocabulary.
    ///
    /// Rows of masks are computed when they are first asked for, whatever `config` says, except
    /// for a saved index, which has its rows already.
    ///
    /// # Errors
    ///
    /// [`Error::Index`]: the expression or the vocabulary is refused; [`Error::Saved`]: so is the
    /// file; [`Error::Tags`]: a tag is refused, or needs a token that the vocabulary lacks.
    pub fn index(
        &self,
        vocabulary: &Vocabulary,
        config: &IndexConfig,
    ) -> Result<Constraint, Error> {
        match self {
            Automaton::Schema(automaton) => {
                let nodes = automaton.nodes();
                let index = lazy(automaton.clone(), vocabulary, config)?;
                let size = Size::new(nodes, "nodes");
                let made = Constraint::new(index.clone(), size, nodes * NODE_BYTES);
                Ok(made.with_bytes_of_text(TEXT_BYTES).with_schema(index))
            }
            Automaton::Regex(pattern) => {
                let config = IndexConfig {
                    fill: Fill::Lazy,
                    ..config.clone()
                };
                let index = Index::with_config(pattern, vocabulary, &Config::default(), &config)?;
                Ok(Constraint::of_regex(index))
            }
            Automaton::Saved(file) => {
                let loaded = Index::load(file, vocabulary);
                let refused = |error| Error::Saved(file.clone(), error);
                Ok(Constraint::of_regex(loaded.map_err(refused)?))
            }
            Automaton::Grammar(automaton) => {
                let size = Size::new(automaton.parser_states(), "states");
                let own = automaton.memory();
                let index = lazy(automaton.clone(), vocabulary, config)?;
                Ok(Constraint::new(index, size, own).with_grammar(automaton.clone()))
            }
            Automaton::Tag(tag) => of_tags(tag.compile(vocabulary)?, vocabulary, config),
            Automaton::Response(format) => of_tags(format.compile(vocabulary)?, vocabulary, config),
        }
    }
}

fn of_tags(
    automaton: TagAutomaton,
    vocabulary: &Vocabulary,
    config: &IndexConfig,
) -> Result<Constraint, Error> {
    let parts = automaton.part_count();
    let index = lazy(automaton, vocabulary, config)?;
    let made = Constraint::new(index, Size::new(parts, "parts"), parts * NODE_BYTES);
    Ok(made.with_bytes_of_text(TEXT_BYTES))
}

fn lazy<A: ByteAutomaton>(
    automaton: A,
    vocabulary: &Vocabulary,
    config: &IndexConfig,
) -> Result<Arc<Index<A>>, Error> {
    Ok(Arc::new(Index::lazy(automaton, vocabulary, config)?))
}

impl From<SchemaAutomaton> for Automaton {
    fn from(automaton: SchemaAutomaton) -> Automaton {
        Automaton::Schema(automaton)
    }
}

impl From<GrammarAutomaton> for Automaton {
    fn from(automaton: GrammarAutomaton) -> Automaton {
        Automaton::Grammar(automaton)
    }
}

impl From<StructuralTag> for Automaton {
    fn from(tag: StructuralTag) -> Automaton {
        Automaton::Tag(Box::new(tag))
    }
}

impl From<ResponseFormat> for Automaton {
    fn from(format: ResponseFormat) -> Automaton {
        Automaton::Response(Box::new(format))
    }
}
