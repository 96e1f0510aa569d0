//! The structural-tag JSON that servers exchange.

mod bounded;
mod cases;
mod goldens;
mod grammars;
mod matcher;
mod spelling;
mod tokens;

use fsm_index::{TokenId, Vocabulary, VocabularyBuilder};
use serde_json::Value;
use structural_tags::{StructuralTag, TagAutomaton};

/// All bytes, some texts, special tokens of some names, and one that ends texts.
fn vocabulary(texts: &[&str], specials: &[&str]) -> Vocabulary {
    vocabulary_without(&[], texts, specials)
}

/// The same without some bytes.
fn vocabulary_without(missing: &[u8], texts: &[&str], specials: &[&str]) -> Vocabulary {
    let mut builder = VocabularyBuilder::new();
    let mut id = 0..;
    let mut next = || TokenId::new(id.next().unwrap());
    for byte in (0..=255u8).filter(|byte| !missing.contains(byte)) {
        builder.text(next(), [byte]).unwrap();
    }
    for text in texts {
        builder.text(next(), text).unwrap();
    }
    for special in specials {
        builder.special(next(), special).unwrap();
    }
    builder.end(next()).unwrap();
    builder.build().unwrap()
}

fn compile(format: &Value, vocabulary: &Vocabulary) -> TagAutomaton {
    let tag = serde_json::json!({"type": "structural_tag", "format": format});
    let tag = StructuralTag::from_value(&tag).unwrap_or_else(|e| panic!("{format}: {e}"));
    tag.compile(vocabulary)
        .unwrap_or_else(|e| panic!("{format}: {e}"))
}

fn refusal(format: &Value, vocabulary: &Vocabulary) -> String {
    let tag = serde_json::json!({"type": "structural_tag", "format": format});
    let compiled = StructuralTag::from_value(&tag).and_then(|tag| tag.compile(vocabulary));
    compiled.map_or_else(|e| e.to_string(), |_| format!("{format} is not refused"))
}
