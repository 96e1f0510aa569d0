//! Our own: schema to regular expression to byte automaton to lazy index.

use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, ByteDfa, Config, Dfa, Fill, Guide, Index, IndexConfig, TokenId, Vocabulary,
    brute_force_mask,
};
use schema_regex::{Formats, Options};
use serde_json::Value;

use super::{Constraint, Engine, PropertyOrder, Session, Setup};

/// Tokenmold in its default settings; rows are computed when first asked for.
pub struct Tokenmold {
    vocabulary: Vocabulary,
    options: Options,
}

impl Tokenmold {
    /// Prepares the engine.
    ///
    /// # Errors
    ///
    /// The order of properties is not supported.
    pub fn new(setup: &Setup) -> Result<Tokenmold, String> {
        if setup.property_order == PropertyOrder::Any {
            return Err("tokenmold: any order of properties is not built yet".into());
        }
        let formats = if setup.assert_formats {
            Formats::Assert
        } else {
            Formats::Annotate
        };
        Ok(Tokenmold {
            vocabulary: setup.vocabulary.clone(),
            options: Options::default().formats(formats),
        })
    }

    /// The automaton of a schema.
    ///
    /// # Errors
    ///
    /// The schema is refused, by keyword and JSON Pointer, or a limit is exceeded.
    pub fn automaton(&self, schema: &Value) -> Result<ByteDfa, String> {
        let schema = schema_regex::parse(schema).map_err(|e| e.to_string())?;
        let pattern = schema_regex::to_regex(&schema, &self.options).map_err(|e| e.to_string())?;
        let config = Config::default();
        let dfa = Dfa::with_config(&pattern, &config).map_err(|e| e.to_string())?;
        dfa.to_bytes(&config).map_err(|e| e.to_string())
    }
}

impl Engine for Tokenmold {
    fn compile(&self, schema: &Value) -> Result<Box<dyn Constraint>, String> {
        let automaton = self.automaton(schema)?;
        let config = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index =
            Index::build(automaton, &self.vocabulary, &config).map_err(|e| e.to_string())?;
        Ok(Box::new(Compiled {
            index: Arc::new(index),
        }))
    }
}

struct Compiled {
    index: Arc<Index>,
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
    guide: Guide,
    index: &'c Index,
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
        for token in &self.taken {
            automaton
                .advance(&mut state, vocabulary.token_bytes(*token)?, &mut ())
                .ok()?;
        }
        Some(
            brute_force_mask(automaton, &state, vocabulary)
                .words()
                .to_vec(),
        )
    }
}
