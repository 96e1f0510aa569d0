//! The crate `llguidance`, in its default settings. For example, a schema becomes a
//! `TopLevelGrammar`, and its matcher computes each mask anew.

use fsm_index::{MaskBuffer, TokenId, TokenKind, Vocabulary};
use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use rayon::prelude::*;
use serde_json::Value;
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

use super::{Batch, Constraint, Engine, Session, Setup};

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

impl LlGuidance {
    /// Compiles a grammar of its Lark, for texts one after the other.
    ///
    /// # Errors
    ///
    /// The crate refuses it.
    pub fn lark(&self, text: &str) -> Result<impl Fn() -> Box<dyn Session> + use<>, String> {
        let grammar = TopLevelGrammar::from_lark(text.to_owned());
        let parser = self.factory.create_parser(grammar);
        let matcher = Matcher::new(Ok(parser.map_err(|e| e.to_string())?));
        if let Some(error) = matcher.get_error() {
            return Err(error);
        }
        Ok(move || {
            Box::new(Text {
                matcher: matcher.clone(),
            }) as Box<dyn Session>
        })
    }

    fn matcher(&self, schema: &Value) -> Result<Matcher, String> {
        let grammar = TopLevelGrammar::from_json_schema(schema.clone());
        let parser = self
            .factory
            .create_parser(grammar)
            .map_err(|e| e.to_string())?;
        let matcher = Matcher::new(Ok(parser));
        match matcher.get_error() {
            Some(error) => Err(error),
            None => Ok(matcher),
        }
    }
}

impl Engine for LlGuidance {
    fn compile(&self, schema: &Value) -> Result<Box<dyn Constraint>, String> {
        Ok(Box::new(Compiled {
            matcher: self.matcher(schema)?,
        }))
    }

    fn batch(&self, schemas: &[Value], rows: &[usize]) -> Result<Box<dyn Batch>, String> {
        let compiled: Vec<Matcher> = schemas
            .iter()
            .map(|schema| self.matcher(schema))
            .collect::<Result<_, _>>()?;
        let lanes = rayon::current_num_threads().min(rows.len()).max(1);
        let mut originals: Vec<Vec<Matcher>> = Vec::new();
        for _ in 1..lanes {
            originals.push(compiled.iter().map(Matcher::deep_clone).collect());
        }
        originals.push(compiled);
        let in_lane = rows.len().div_ceil(lanes);
        let matchers = rows.iter().enumerate();
        let matchers = matchers.map(|(row, &schema)| originals[row / in_lane][schema].clone());
        Ok(Box::new(Rows {
            matchers: matchers.collect(),
            originals,
            in_lane,
        }))
    }
}

/// Matchers that are asked together, in lanes: a clone takes the lock of what it was cloned
/// from for as long as a mask takes, and knows what that knows. So the rows of one lane,
/// which one thread masks, are clones of one matcher, and those of two lanes are not.
struct Rows {
    /// For each lane the schemas.
    originals: Vec<Vec<Matcher>>,
    matchers: Vec<Matcher>,
    /// Rows of a lane; the last may have fewer.
    in_lane: usize,
}

impl Batch for Rows {
    fn begin(&mut self, row: usize, schema: usize) -> Result<(), String> {
        self.matchers[row] = self.originals[row / self.in_lane][schema].clone();
        Ok(())
    }

    /// As the crate's own `llg_par_compute_mask` does it: masks by rayon, copied to where
    /// they are wanted.
    fn masks(&mut self, words: &mut [u32]) -> Result<(), String> {
        let width = words.len() / self.matchers.len().max(1);
        let lane = |matchers: &mut [Matcher], words: &mut [u32]| {
            let mut rows = matchers.iter_mut().zip(words.chunks_mut(width));
            rows.try_for_each(|(matcher, row)| write_mask(matcher, row))
        };
        if self.originals.len() == 1 {
            return lane(&mut self.matchers, words);
        }
        self.matchers
            .par_chunks_mut(self.in_lane)
            .zip(words.par_chunks_mut(self.in_lane * width))
            .try_for_each(|(matchers, words)| lane(matchers, words))
    }

    fn advance(&mut self, row: usize, token: u32) -> Result<(), String> {
        let taken = self.matchers[row].consume_token(token);
        taken.map_err(|e| e.to_string())
    }
}

fn write_mask(matcher: &mut Matcher, words: &mut [u32]) -> Result<(), String> {
    let mask = matcher.compute_mask_or_eos().map_err(|e| e.to_string())?;
    let mask = mask.as_slice();
    let length = mask.len().min(words.len());
    words[..length].copy_from_slice(&mask[..length]);
    Ok(())
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

    fn for_another_thread(&self) -> Box<dyn Constraint> {
        Box::new(Compiled {
            matcher: self.matcher.deep_clone(),
        })
    }
}

struct Text {
    matcher: Matcher,
}

impl Session for Text {
    fn mask(&mut self, buffer: &mut MaskBuffer) -> Result<(), String> {
        write_mask(&mut self.matcher, buffer.words_mut())
    }

    fn advance(&mut self, token: u32) -> Result<(), String> {
        self.matcher.consume_token(token).map_err(|e| e.to_string())
    }

    fn is_accepting(&mut self) -> bool {
        self.matcher.is_accepting().unwrap_or(false)
    }
}
