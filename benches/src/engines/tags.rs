//! Our own, with each schema inside of a tag as model families write calls: what masks cost there,
//! beside the same schemas bare. For example, `tags-hermes` puts the schema's JSON between
//! `<tool_call>\n{"name": "f", "arguments": ` and `}\n</tool_call>`.

use std::collections::HashMap;
use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, Fill, Guide, Index, IndexConfig, JSON_TEXT, MaskBuffer, TokenId, Vocabulary,
    brute_force_mask,
};
use response_parser::Family;
use schema_regex::{AdditionalMembers, Escapes, Options, Whitespace};
use serde_json::{Value, json};
use structural_tags::{Count, Error, Reasoning, ResponseFormat, StructuralTag, TagAutomaton};

use super::{Constraint, Engine, Session, Setup};

/// The engine of the same schemas without tags, whose JSON is written as in them.
pub const BARE: &str = "tags-bare";

/// The names of these engines, and the texts around arguments, as the families' models write them.
const KINDS: [(&str, &str, &str); 4] = [
    (
        "tags-hermes",
        "<tool_call>\n{\"name\": \"f\", \"arguments\": ",
        "}\n</tool_call>",
    ),
    (
        "tags-llama3-json",
        "{\"name\": \"f\", \"parameters\": ",
        "}",
    ),
    (
        "tags-harmony",
        "<|channel|>commentary to=functions.f<|constrain|>json<|message|>",
        "<|call|>",
    ),
    (
        OWN,
        "<tool_call>\n{\"name\": \"f\", \"arguments\": ",
        "}\n</tool_call>",
    ),
];

/// The name of this project's own format of that family, which has an engine of its own because it
/// keeps its markers out of JSON.
const OWN: &str = "tags-own-hermes";

/// The names of the engines of tags. The one without tags comes first, because the others are
/// compared with it.
pub const NAMES: [&str; 5] = [BARE, KINDS[0].0, KINDS[1].0, KINDS[2].0, KINDS[3].0];

/// Tags of one kind.
pub struct Tags {
    vocabulary: Vocabulary,
    begin: Vec<TokenId>,
    end: Vec<TokenId>,
    texts: (&'static str, &'static str),
    is_own: bool,
}

impl Tags {
    /// The engine of that name, if there is one.
    pub fn new(name: &str, setup: &Setup) -> Option<Tags> {
        let (_, begin, end) = KINDS.into_iter().find(|(known, ..)| *known == name)?;
        setup.vocabulary.prepare(JSON_TEXT);
        let all = setup.vocabulary.texts();
        let tokens: HashMap<&[u8], TokenId> = all.map(|(token, text)| (text, token)).collect();
        // The longest token first.
        let spell = |text: &str| {
            let mut rest = text.as_bytes();
            let mut out = Vec::new();
            while !rest.is_empty() {
                let found = (1..=rest.len())
                    .rev()
                    .find_map(|n| Some((n, *tokens.get(&rest[..n])?)));
                let (n, token) = found?;
                out.push(token);
                rest = &rest[n..];
            }
            Some(out)
        };
        Some(Tags {
            begin: spell(begin)?,
            end: spell(end)?,
            vocabulary: setup.vocabulary.clone(),
            texts: (begin, end),
            is_own: name == OWN,
        })
    }
}

impl Tags {
    fn automaton(&self, schema: &Value) -> Result<TagAutomaton, Error> {
        if self.is_own {
            let options = Options::default()
                .with_whitespace(Whitespace::Pattern(r"[ \t\n\r]*".to_owned()))
                .with_escapes(Escapes::All)
                .with_additional_members(AdditionalMembers::Closed);
            return ResponseFormat::named(Family::HERMES)?
                .with_tools(&[json!({"name": "f", "parameters": schema})])?
                .with_calls(Count::ONE)
                .with_reasoning(Reasoning::ABSENT)
                .with_options(options)
                .compile(&self.vocabulary);
        }
        let (begin, end) = self.texts;
        let tag = json!({"format": {"type": "tag", "begin": begin, "end": end,
            "content": {"type": "json_schema", "json_schema": schema}}});
        StructuralTag::from_value(&tag)?.compile(&self.vocabulary)
    }
}

impl Engine for Tags {
    fn compile(&self, schema: &Value) -> Result<Box<dyn Constraint>, String> {
        let automaton = self.automaton(schema).map_err(|error| error.to_string())?;
        let config = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index = Index::lazy(automaton, &self.vocabulary, &config);
        Ok(Box::new(Compiled {
            index: Arc::new(index.map_err(|error| error.to_string())?),
            begin: self.begin.clone(),
            end: self.end.clone(),
        }))
    }
}

#[derive(Clone)]
struct Compiled {
    index: Arc<Index<TagAutomaton>>,
    begin: Vec<TokenId>,
    end: Vec<TokenId>,
}

impl Constraint for Compiled {
    /// A text that stands behind the tag's beginning.
    fn session(&self) -> Result<Box<dyn Session + '_>, String> {
        let mut guide = Guide::new(Arc::clone(&self.index));
        for token in &self.begin {
            guide.advance(*token).map_err(|error| error.to_string())?;
        }
        Ok(Box::new(Text {
            guide,
            compiled: self,
            taken: self.begin.clone(),
        }))
    }

    fn for_another_thread(&self) -> Box<dyn Constraint> {
        Box::new(self.clone())
    }
}

struct Text<'c> {
    guide: Guide<TagAutomaton>,
    compiled: &'c Compiled,
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

    /// Tells whether the value may end here: whether the tag's end may follow.
    fn is_accepting(&mut self) -> bool {
        let taken = self.guide.validate(&self.compiled.end);
        taken == self.compiled.end.len()
    }

    fn brute_force(&mut self) -> Option<Vec<u32>> {
        let index = &self.compiled.index;
        let (automaton, vocabulary) = (index.automaton(), index.vocabulary());
        let mut state = automaton.start();
        let mut scratch = automaton.scratch();
        for token in &self.taken {
            automaton
                .advance(&mut state, vocabulary.token_bytes(*token)?, &mut scratch)
                .ok()?;
        }
        let mask = brute_force_mask(automaton, &state, vocabulary);
        Some(mask.words().to_vec())
    }
}
