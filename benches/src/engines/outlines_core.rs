//! The crate `outlines-core`, in its default settings. For example, a schema becomes an expression
//! and that an eager index: `{"type": "boolean"}` becomes `(true|false)`.

use std::sync::Arc;

use fsm_index::MaskBuffer;
use outlines_core::index::Index;
use outlines_core::json_schema;
use outlines_core::primitives::StateId;
use outlines_core::vocabulary::Vocabulary;
use serde_json::Value;

use super::{Constraint, Engine, Session, Setup};

/// `outlines-core` over the same bytes for each text token as ours.
pub struct OutlinesCore {
    vocabulary: Vocabulary,
}

impl OutlinesCore {
    /// Copies the text tokens; the crate knows one end token.
    ///
    /// # Errors
    ///
    /// There is no end token, or the crate refuses a token.
    pub fn new(setup: &Setup) -> Result<OutlinesCore, String> {
        let end = setup
            .vocabulary
            .ends()
            .first()
            .ok_or("outlines-core needs an end token")?;
        let mut vocabulary = Vocabulary::new(end.get());
        for (token, bytes) in setup.vocabulary.texts() {
            vocabulary
                .try_insert(bytes.to_vec(), token.get())
                .map_err(|e| e.to_string())?;
        }
        Ok(OutlinesCore { vocabulary })
    }
}

impl Engine for OutlinesCore {
    fn compile(&self, schema: &Value) -> Result<Box<dyn Constraint>, String> {
        let regex = json_schema::regex_from_value(schema, None, None).map_err(|e| e.to_string())?;
        let index = Index::new(&regex, &self.vocabulary).map_err(|e| e.to_string())?;
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
            index: &self.index,
            state: self.index.initial_state(),
        }))
    }

    fn for_another_thread(&self) -> Box<dyn Constraint> {
        Box::new(Compiled {
            index: Arc::clone(&self.index),
        })
    }
}

struct Text<'c> {
    index: &'c Index,
    state: StateId,
}

impl Session for Text<'_> {
    fn mask(&mut self, buffer: &mut MaskBuffer) -> Result<(), String> {
        let words = buffer.words_mut();
        words.fill(0);
        for &token in self
            .index
            .allowed_tokens_iter(&self.state)
            .into_iter()
            .flatten()
        {
            words[token as usize / 32] |= 1 << (token % 32);
        }
        Ok(())
    }

    fn advance(&mut self, token: u32) -> Result<(), String> {
        let next = self.index.next_state(&self.state, &token);
        self.state = next.ok_or("the token may not come here")?;
        Ok(())
    }

    fn is_accepting(&mut self) -> bool {
        self.index.is_final_state(&self.state)
    }
}
