//! Our own: schema to byte automaton to lazy index. For example, two texts under `{"type":
//! "integer"}` share one index, which remembers the rows of both.

use std::path::Path;
use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, Fill, Guide, Index, IndexConfig, JSON_TEXT, MaskBuffer, TokenId, Vocabulary,
    brute_force_mask, mask_batch,
};
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{
    AdditionalMembers, Documents, Draft, ErrorKind, Escapes, Formats, IntegerSpelling, Options,
    ParseOptions, Rounded, Whitespace,
};
use serde_json::Value;

use super::{Batch, Constraint, Engine, PropertyOrder, Session, Setup};

/// Tokenmold in its default settings; masks are computed when first asked for.
pub struct Tokenmold {
    vocabulary: Vocabulary,
    options: Options,
    reading: ParseOptions,
    /// True if a schema that nothing satisfies is no error.
    takes_empty: bool,
}

impl Tokenmold {
    /// Prepares the engine, and the vocabulary for strings of JSON.
    ///
    /// # Errors
    ///
    /// The suite's other documents cannot be read.
    pub fn new(setup: &Setup) -> Result<Tokenmold, String> {
        let formats = if setup.assert_formats {
            Formats::Assert
        } else {
            Formats::Annotate
        };
        let order = match setup.property_order {
            PropertyOrder::Schema => schema_regex::PropertyOrder::Schema,
            PropertyOrder::Any => schema_regex::PropertyOrder::Any,
        };
        let further = match setup.additional_members {
            super::AdditionalMembers::Open => AdditionalMembers::Open,
            super::AdditionalMembers::Closed => AdditionalMembers::Closed,
        };
        let mut options = Options::default()
            .with_formats(formats)
            .with_property_order(order)
            .with_additional_members(further);
        // A file of cases has its numbers rounded for all engines alike.
        let mut reading = ParseOptions::default()
            .with_rounded(Rounded::Keep)
            .with_documents(setup.documents.clone());
        if let Some(file) = &setup.suite {
            options = options.with_integers(IntegerSpelling::ZeroFraction);
            reading = suite_reading(file)?;
        }
        setup.vocabulary.prepare(JSON_TEXT);
        Ok(Tokenmold {
            vocabulary: setup.vocabulary.clone(),
            options,
            reading,
            takes_empty: setup.suite.is_some(),
        })
    }

    /// The same with JSON written as structural tags have it: any white space, every escape, and
    /// no properties but those that are declared.
    ///
    /// # Errors
    ///
    /// As [`Tokenmold::new`].
    pub fn as_in_tags(setup: &Setup) -> Result<Tokenmold, String> {
        let mut engine = Tokenmold::new(setup)?;
        let space = Whitespace::Pattern(r"[ \t\n\r]*".to_owned());
        engine.options = engine.options.with_whitespace(space);
        engine.options = engine.options.with_escapes(Escapes::All);
        engine.options = engine
            .options
            .with_additional_members(AdditionalMembers::Closed);
        Ok(engine)
    }

    /// The same with another style of white space.
    pub fn with_whitespace(mut self, style: Whitespace) -> Tokenmold {
        self.options = self.options.with_whitespace(style);
        self
    }

    fn index(&self, automaton: SchemaAutomaton) -> Result<Arc<Index<SchemaAutomaton>>, String> {
        let config = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index = Index::lazy(automaton, &self.vocabulary, &config);
        Ok(Arc::new(index.map_err(|e| e.to_string())?))
    }

    /// The automaton of a schema.
    ///
    /// # Errors
    ///
    /// The schema is refused, by keyword and JSON Pointer, or a limit is exceeded.
    pub fn automaton(&self, schema: &Value) -> Result<SchemaAutomaton, schema_regex::Error> {
        let schema = schema_regex::parse_with(schema, &self.reading)?;
        SchemaAutomaton::compile(schema, &self.options)
    }
}

/// Returns the options by which the official suite's file is read: its draft, and its formats.
fn suite_reading(file: &Path) -> Result<ParseOptions, String> {
    let name = file.to_string_lossy();
    let draft = if name.contains("draft4") {
        Draft::Draft4
    } else if name.contains("draft7") {
        Draft::Draft7
    } else {
        Draft::Draft202012
    };
    let reading = ParseOptions::default()
        .with_draft(draft)
        .with_rounded(Rounded::Keep);
    let mut documents = Documents::default();
    let remotes = file.with_file_name("remotes");
    if remotes.is_dir() {
        let read = documents.insert_folder(&remotes, Some("http://localhost:1234/"));
        read.map_err(|e| e.to_string())?;
    }
    Ok(reading.with_documents(documents))
}

impl Engine for Tokenmold {
    fn compile(&self, schema: &Value) -> Result<Box<dyn Constraint>, String> {
        let automaton = match self.automaton(schema) {
            Ok(automaton) => automaton,
            Err(e) if self.takes_empty && e.kind() == ErrorKind::Unsatisfiable => {
                return Ok(Box::new(Nothing));
            }
            Err(e) => return Err(e.to_string()),
        };
        Ok(Box::new(Compiled {
            index: self.index(automaton)?,
        }))
    }

    fn batch(&self, schemas: &[Value], rows: &[usize]) -> Result<Box<dyn Batch>, String> {
        let index = |schema| self.index(self.automaton(schema).map_err(|e| e.to_string())?);
        let indexes = schemas.iter().map(index).collect::<Result<Vec<_>, _>>()?;
        let guides = rows
            .iter()
            .map(|&schema| Guide::new(indexes[schema].clone()));
        Ok(Box::new(Rows {
            guides: guides.collect(),
            indexes,
        }))
    }
}

/// The constraint that no text satisfies.
struct Nothing;

impl Constraint for Nothing {
    fn session(&self) -> Result<Box<dyn Session + '_>, String> {
        Ok(Box::new(Nothing))
    }

    fn for_another_thread(&self) -> Box<dyn Constraint> {
        Box::new(Nothing)
    }
}

impl Session for Nothing {
    fn mask(&mut self, buffer: &mut MaskBuffer) -> Result<(), String> {
        buffer.clear();
        Ok(())
    }

    fn advance(&mut self, _: u32) -> Result<(), String> {
        Err("no value satisfies the schema".to_owned())
    }

    fn is_accepting(&mut self) -> bool {
        false
    }
}

struct Compiled {
    index: Arc<Index<SchemaAutomaton>>,
}

impl Constraint for Compiled {
    fn session(&self) -> Result<Box<dyn Session + '_>, String> {
        Ok(Box::new(Text {
            guide: Guide::new(Arc::clone(&self.index)),
            index: &self.index,
            taken: Vec::new(),
        }))
    }

    /// Guides on any threads lend rows of one index.
    fn for_another_thread(&self) -> Box<dyn Constraint> {
        Box::new(Compiled {
            index: Arc::clone(&self.index),
        })
    }
}

/// Guides that are asked together.
struct Rows {
    indexes: Vec<Arc<Index<SchemaAutomaton>>>,
    guides: Vec<Guide<SchemaAutomaton>>,
}

impl Batch for Rows {
    fn begin(&mut self, row: usize, schema: usize) -> Result<(), String> {
        self.guides[row] = Guide::new(Arc::clone(&self.indexes[schema]));
        Ok(())
    }

    fn masks(&mut self, words: &mut [u32]) -> Result<(), String> {
        mask_batch(&mut self.guides, words).map_err(|e| e.to_string())
    }

    fn advance(&mut self, row: usize, token: u32) -> Result<(), String> {
        let advanced = self.guides[row].advance(TokenId::new(token));
        advanced.map_err(|e| e.to_string())
    }
}

struct Text<'c> {
    guide: Guide<SchemaAutomaton>,
    index: &'c Index<SchemaAutomaton>,
    taken: Vec<TokenId>,
}

impl Session for Text<'_> {
    fn mask(&mut self, buffer: &mut MaskBuffer) -> Result<(), String> {
        self.guide.write_mask(buffer).map_err(|e| e.to_string())
    }

    fn advance(&mut self, token: u32) -> Result<(), String> {
        let token = TokenId::new(token);
        self.guide.advance(token).map_err(|e| e.to_string())?;
        self.taken.push(token);
        Ok(())
    }

    fn is_accepting(&mut self) -> bool {
        self.guide.is_accepting()
    }

    /// Steps the automaton byte by byte from its start, so that nothing of the guide or of
    /// the index's rows is trusted.
    fn brute_force(&mut self) -> Option<Vec<u32>> {
        let (automaton, vocabulary) = (self.index.automaton(), self.index.vocabulary());
        let mut state = automaton.start();
        let mut scratch = automaton.scratch();
        for token in &self.taken {
            automaton
                .advance(&mut state, vocabulary.token_bytes(*token)?, &mut scratch)
                .ok()?;
        }
        Some(
            brute_force_mask(automaton, &state, vocabulary)
                .words()
                .to_vec(),
        )
    }
}
