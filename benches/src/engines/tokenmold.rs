//! Our own: schema to byte automaton to lazy index.

use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, Fill, Guide, Index, IndexConfig, JSON_TEXT, TokenId, Vocabulary,
    brute_force_mask,
};
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Formats, Options};
use serde_json::Value;

use super::{Constraint, Engine, PropertyOrder, Session, Setup};

/// Tokenmold in its default settings; masks are computed when first asked for.
pub struct Tokenmold {
    vocabulary: Vocabulary,
    options: Options,
}

impl Tokenmold {
    /// Prepares the engine, and the vocabulary for strings of JSON.
    ///
    /// # Errors
    ///
    /// None.
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
        setup.vocabulary.prepare(JSON_TEXT);
        Ok(Tokenmold {
            vocabulary: setup.vocabulary.clone(),
            options: Options::default().formats(formats).property_order(order),
        })
    }

    /// The automaton of a schema.
    ///
    /// # Errors
    ///
    /// The schema is refused, by keyword and JSON Pointer, or a limit is exceeded.
    pub fn automaton(&self, schema: &Value) -> Result<SchemaAutomaton, String> {
        SchemaAutomaton::new(schema, &self.options).map_err(|e| e.to_string())
    }
}

impl Engine for Tokenmold {
    fn compile(&self, schema: &Value) -> Result<Box<dyn Constraint>, String> {
        let automaton = self.automaton(schema)?;
        let config = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index = Index::lazy(automaton, &self.vocabulary, &config);
        Ok(Box::new(Compiled {
            index: Arc::new(index.map_err(|e| e.to_string())?),
        }))
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
}

struct Text<'c> {
    guide: Guide<SchemaAutomaton>,
    index: &'c Index<SchemaAutomaton>,
    taken: Vec<TokenId>,
}

impl Session for Text<'_> {
    fn mask(&mut self, words: &mut [u32]) -> Result<(), String> {
        let mask = self.guide.mask().words();
        words[..mask.len()].copy_from_slice(mask);
        Ok(())
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
