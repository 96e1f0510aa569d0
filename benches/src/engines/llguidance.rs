//! The crate `llguidance`, in its default settings.

use fsm_index::{TokenId, TokenKind, Vocabulary};
use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use serde_json::Value;
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

use super::{Constraint, Engine, Session, Setup};

/// `llguidance` over the same bytes for each token as ours.
pub struct LlGuidance {
    factory: ParserFactory,
}

impl LlGuidance {
    /// Builds its trie, and the slices that its documentation recommends in general.
    ///
    /// # Errors
    ///
    /// The crate refuses the vocabulary.
    pub fn new(setup: &Setup) -> Result<LlGuidance, String> {
        let environment = environment(&setup.vocabulary);
        let mut factory = ParserFactory::new_simple(&environment).map_err(|e| e.to_string())?;
        factory.quiet();
        Ok(LlGuidance { factory })
    }
}

/// The vocabulary as the crate wants it: special tokens are marked by a byte that no text
/// has.
fn environment(vocabulary: &Vocabulary) -> TokEnv {
    let marked = |name: &[u8]| [&[TokTrie::SPECIAL_TOKEN_MARKER], name].concat();
    let words: Vec<Vec<u8>> = (0..vocabulary.width() as u32)
        .map(TokenId::new)
        .map(|token| match vocabulary.kind(token) {
            TokenKind::Text => vocabulary.token_bytes(token).unwrap_or_default().to_vec(),
            TokenKind::Absent => marked(format!("<[{token}]>").as_bytes()),
            _ => marked(vocabulary.token_name(token).unwrap_or_default()),
        })
        .collect();
    let ends: Vec<u32> = vocabulary.ends().iter().map(|end| end.get()).collect();
    let first = ends.first().copied().unwrap_or(toktrie::INVALID_TOKEN);
    let trie = TokTrie::from(&TokRxInfo::new(words.len() as u32, first), &words);
    let trie = if ends.len() > 1 {
        trie.with_eos_tokens(&ends)
    } else {
        trie
    };
    std::sync::Arc::new(ApproximateTokEnv::new(trie))
}

impl Engine for LlGuidance {
    fn compile(&self, schema: &Value) -> Result<Box<dyn Constraint>, String> {
        let grammar = TopLevelGrammar::from_json_schema(schema.clone());
        let parser = self
            .factory
            .create_parser(grammar)
            .map_err(|e| e.to_string())?;
        let matcher = Matcher::new(Ok(parser));
        match matcher.get_error() {
            Some(error) => Err(error),
            None => Ok(Box::new(Compiled { matcher })),
        }
    }
}

struct Compiled {
    matcher: Matcher,
}

impl Constraint for Compiled {
    fn session(&self) -> Result<Box<dyn Session + '_>, String> {
        // A plain clone shares the lexer and what it has computed; a deep one would not.
        Ok(Box::new(Text {
            matcher: self.matcher.clone(),
        }))
    }
}

struct Text {
    matcher: Matcher,
}

impl Session for Text {
    fn mask(&mut self, words: &mut [u32]) -> Result<(), String> {
        let mask = self
            .matcher
            .compute_mask_or_eos()
            .map_err(|e| e.to_string())?;
        let mask = mask.as_slice();
        let length = mask.len().min(words.len());
        words[..length].copy_from_slice(&mask[..length]);
        Ok(())
    }

    fn advance(&mut self, token: u32) -> Result<(), String> {
        self.matcher.consume_token(token).map_err(|e| e.to_string())
    }

    fn is_accepting(&mut self) -> bool {
        self.matcher.is_accepting().unwrap_or(false)
    }
}
