//! Structural tags and formats as constraints.

mod endings;
mod formats;
mod loose;
mod spellings;

use std::sync::Arc;

use fsm_index::contract::{self, Effort};
use fsm_index::{
    ByteAutomaton, Fill, Guide, Index, IndexConfig, TokenId, TokenKind, Vocabulary,
    VocabularyBuilder,
};
use serde_json::{Value, json};
use structural_tags::ErrorKind;
use structural_tags::{
    Content, Count, MAX_COUNT, MAX_PARTS, MAX_QUIET_STATES, Reasoning, Tag, TagAutomaton, Tags,
};

/// All bytes, these texts, and special tokens of these names; the last one ends
/// texts.
fn vocabulary(texts: &[&str], specials: &[&str]) -> Vocabulary {
    let mut builder = VocabularyBuilder::new();
    let mut id = 0..;
    let mut next = || TokenId::new(id.next().unwrap());
    for byte in 0..=255u8 {
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

fn guide(automaton: &TagAutomaton, vocabulary: &Vocabulary) -> Guide<TagAutomaton> {
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::lazy(automaton.clone(), vocabulary, &lazy).unwrap();
    Guide::new(Arc::new(index))
}

/// The text of a token, or the name of a special one.
fn spelt(vocabulary: &Vocabulary, token: TokenId) -> Vec<u8> {
    let bytes = vocabulary.token_bytes(token);
    bytes
        .or_else(|| vocabulary.token_name(token))
        .unwrap_or_default()
        .to_vec()
}

struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// Leads a guide through allowed tokens, chosen by chance, sometimes along its
/// completion, and to the end; the text, with the names of special tokens.
fn walk(guide: &mut Guide<TagAutomaton>, tokens: usize, chance: &mut Chance) -> String {
    let vocabulary = guide.index().vocabulary().clone();
    let mut text = Vec::new();
    for step in 0.. {
        let completion = guide.completion().unwrap();
        if step >= tokens && completion.is_empty() {
            break;
        }
        let allowed: Vec<TokenId> = guide.mask().unwrap().iter().collect();
        let along = step >= tokens || chance.below(3) > 0;
        let token = if along && !completion.is_empty() {
            let fits = |token: &&TokenId| {
                let text = spelt(&vocabulary, **token);
                !text.is_empty() && completion.starts_with(&text)
            };
            let mut ways: Vec<TokenId> = allowed.iter().filter(fits).copied().collect();
            ways.sort_by_key(|token| spelt(&vocabulary, *token).len());
            let special = |t: &&TokenId| vocabulary.kind(**t) != TokenKind::Text;
            match ways.iter().find(special) {
                Some(special) => *special,
                None => ways[chance.below(ways.len())],
            }
        } else {
            allowed[chance.below(allowed.len())]
        };
        if vocabulary.ends().contains(&token) {
            break;
        }
        guide.advance(token).unwrap();
        text.extend(spelt(&vocabulary, token));
    }
    assert!(guide.is_accepting());
    String::from_utf8(text).unwrap()
}

fn weather() -> Content {
    Content::schema(&json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 14}},
        "required": ["city"],
        "additionalProperties": false
    }))
    .unwrap()
}

const PIECES: [&str; 24] = [
    "<too",
    "<tool_call>",
    "</tool",
    "</tool_call>",
    "_call",
    "l>",
    "ll>x",
    "\"}</",
    "{\"city\": \"",
    "\"}",
    "\"}</tool_call>",
    " the",
    "Hello",
    "é",
    "中",
    "<think>",
    "</think>",
    "nk>",
    "\\u003",
    "3e",
    "</tool_call",
    "1<",
    "<<",
    "\n\n",
];

#[test]
fn tags_keep_the_contract() {
    let plain = vocabulary(&PIECES, &[]);
    let special = vocabulary(
        &PIECES,
        &["<tool_call>", "</tool_call>", "<think>", "</think>"],
    );
    let half = vocabulary(&PIECES, &["<tool_call>", "</think>"]);
    let tag = || Tag::new("<tool_call>", weather(), "</tool_call>");
    let grammars = [
        Tags::new().with_tag(tag()),
        Tags::new().with_tag(tag()).with_count(Count::AT_LEAST_ONE),
        Tags::new()
            .with_tag(tag())
            .with_count(Count::ONE)
            .with_text_limit(5),
        Tags::new()
            .with_tag(Tag::new(
                "<n>",
                Content::regex("[0-9]+(\\.[0-9]+)?").unwrap(),
                "</n>",
            ))
            .with_tag(Tag::new(
                "<x>",
                Content::choice(["<y", "<yes>", "a.c"]).unwrap(),
                "</x>",
            ))
            .with_reasoning("<think>", "</think>", Reasoning::limited(6)),
        Tags::new()
            .with_reasoning("<think>", "</think>", Reasoning::FREE.required())
            .with_answer(Content::schema(&json!({"type": ["number", "string"]})).unwrap()),
        Tags::new()
            .with_tag(tag())
            .with_answer(weather())
            .with_count(Count {
                least: 0,
                most: Some(2),
            }),
        Tags::new().with_tag(Tag::new("◁a▷", Content::text(Some(3)), "◁/a▷")),
    ];
    let beginnings = [
        "<tool_call>{\"city\": \"</tool_cal",
        "a <tool_call>{\"city\": \"x\"}",
        "<tool_cal",
        "<think>abc</thi",
        "<n>12",
        "◁a▷xy",
        "◁",
    ];
    for (at, tags) in grammars.iter().enumerate() {
        for vocabulary in [&plain, &special, &half] {
            let automaton = tags.compile(vocabulary).unwrap();
            let mut scratch = automaton.scratch();
            let fits = |text: &&str| {
                automaton
                    .advance(&mut automaton.start(), text.as_bytes(), &mut scratch)
                    .is_ok()
            };
            let beginnings: Vec<&str> = beginnings.iter().copied().filter(fits).collect();
            let effort = Effort {
                walks: 14,
                tokens: 24,
                seed: 3,
            };
            contract::check(&automaton, vocabulary, &beginnings, effort)
                .unwrap_or_else(|error| panic!("grammar {at}: {error}"));
        }
    }
}

/// The texts of the first characters, by a search without automata.
#[test]
fn tags_are_what_a_plain_reading_says() {
    let none = vocabulary(&[], &[]);
    let any = Tags::new().with_tag(Tag::new("<t>", Content::regex("[ab]*").unwrap(), "</t>"));
    let one = any.clone().with_count(Count::ONE).compile(&none).unwrap();
    let some = any
        .clone()
        .with_count(Count::AT_LEAST_ONE)
        .compile(&none)
        .unwrap();
    let no = any.clone().with_count(Count::NONE).compile(&none).unwrap();
    let compiled = |tags: Tags| tags.compile(&none).unwrap();
    let bare = compiled(any.clone().without_text_before().without_text_behind());
    let last = any.clone().without_text_behind();
    let (last, last_one) = (
        compiled(last.clone()),
        compiled(last.with_count(Count::ONE)),
    );
    let first = compiled(
        any.clone()
            .without_text_before()
            .with_count(Count::AT_LEAST_ONE),
    );
    let any = any.compile(&none).unwrap();
    let pieces = ["<t>", "</t>", "a</t>", "<", "<t>ab</t>", "c", "t>"];
    let mut chance = Chance(7);
    let mut seen = [0; 4];
    for _ in 0..20_000 {
        let parts = (0..chance.below(7)).map(|_| pieces[chance.below(pieces.len())]);
        let text: String = parts.collect();
        // Cut at the markers, one after another.
        let mut rest = text.as_str();
        let mut calls = Some(0);
        while let Some((_, inside)) = rest.split_once("<t>") {
            let cut = inside.split_once("</t>");
            match cut.filter(|(body, _)| body.chars().all(|c| "ab".contains(c))) {
                Some((_, behind)) => {
                    rest = behind;
                    calls = calls.map(|n| n + 1);
                }
                None => {
                    calls = None;
                    break;
                }
            }
        }
        let is = |automaton: &TagAutomaton| automaton.is_match(text.as_bytes());
        assert_eq!(is(&any), calls.is_some(), "{text}");
        assert_eq!(is(&some), calls.is_some_and(|n| n > 0), "{text}");
        assert_eq!(is(&one), calls == Some(1), "{text}");
        assert_eq!(is(&no), calls == Some(0), "{text}");
        let (begins, ends) = (text.starts_with("<t>"), rest.is_empty());
        let some_calls = calls.is_some_and(|n| n > 0);
        assert_eq!(is(&first), some_calls && begins, "{text}");
        assert_eq!(is(&last), some_calls && ends || calls == Some(0), "{text}");
        assert_eq!(is(&last_one), calls == Some(1) && ends, "{text}");
        assert_eq!(
            is(&bare),
            some_calls && begins && ends || text.is_empty(),
            "{text}"
        );
        seen[calls.map_or(3, |n: usize| n.min(2))] += 1;
    }
    assert!(seen.iter().all(|n| *n > 100), "{seen:?}");
}

#[test]
fn reasoning_ends_at_its_limit() {
    for specials in [&[][..], &["<think>", "</think>"]] {
        let vocabulary = vocabulary(&PIECES, specials);
        let tags = Tags::new()
            .with_reasoning("<think>", "</think>", Reasoning::limited(5).required())
            .compile(&vocabulary)
            .unwrap();
        let mut guide = guide(&tags, &vocabulary);
        let bytes = |text: &str| -> Vec<TokenId> {
            text.bytes().map(|b| TokenId::new(u32::from(b))).collect()
        };
        let marker = |name: &str| match vocabulary.special(name) {
            Some(token) => vec![token],
            None => bytes(name),
        };
        let take = |guide: &mut Guide<TagAutomaton>, tokens: &[TokenId]| {
            tokens.iter().all(|token| guide.advance(*token).is_ok())
        };
        assert!(take(&mut guide, &marker("<think>")));
        assert!(take(&mut guide, &bytes("a中é<😀")));
        let allowed: Vec<TokenId> = guide.mask().unwrap().iter().collect();
        assert_eq!(
            allowed.len(),
            match specials.is_empty() {
                // `<`, `</tool` and the like are no way to the end.
                true =>
                    1 + PIECES
                        .iter()
                        .filter(|p| "</think>".starts_with(**p))
                        .count(),
                false => 1,
            }
        );
        assert!(take(&mut guide, &marker("</think>")));
        assert!(guide.is_accepting());
        guide.rollback(marker("</think>").len() + 4).unwrap();
        assert!(take(&mut guide, &bytes("b")));
    }
}

#[test]
fn a_special_token_is_never_spelt() {
    let vocabulary = vocabulary(&PIECES, &["<tool_call>", "</tool_call>"]);
    let tags = Tags::new().with_tag(Tag::new("<tool_call>", weather(), "</tool_call>"));
    let automaton = tags.compile(&vocabulary).unwrap();
    let mut guide = guide(&automaton, &vocabulary);
    let spelling = |text: &str| {
        (0..vocabulary.width() as u32)
            .map(TokenId::new)
            .find(|t| vocabulary.token_bytes(*t) == Some(text.as_bytes()))
            .unwrap()
    };
    let open = vocabulary.special("<tool_call>").unwrap();
    let close = vocabulary.special("</tool_call>").unwrap();
    assert!(guide.mask().unwrap().allows(open) && !guide.mask().unwrap().allows(close));
    assert!(!guide.mask().unwrap().allows(spelling("<tool_call>")));
    // The closing marker means nothing here, so it may be said.
    assert!(guide.mask().unwrap().allows(spelling("</tool_call>")));
    guide.advance(open).unwrap();
    assert!(!guide.mask().unwrap().allows(open) && !guide.mask().unwrap().allows(close));
    guide.advance(spelling("{\"city\": \"")).unwrap();
    assert!(!guide.mask().unwrap().allows(spelling("</tool_call>")));
    assert!(!guide.mask().unwrap().allows(spelling("\"}</tool_call>")));
    guide.advance(spelling("</tool_call")).unwrap();
    // The last character can be said by its escape.
    for piece in ["\\u003", "3e", "\"}"] {
        if piece == "3e" {
            guide.advance(spelling("e")).unwrap();
        } else {
            guide.advance(spelling(piece)).unwrap();
        }
    }
    assert!(guide.mask().unwrap().allows(close));
    guide.advance(close).unwrap();
    assert!(guide.is_accepting());
}

/// Where only a marker would do, it is spelt with an escape.
#[test]
fn values_that_are_markers_can_be_said() {
    let vocabulary = vocabulary(&PIECES, &[]);
    for value in ["</tool_call>", "x</tool_call>y", "</tool_call></tool_call>"] {
        let content = Content::schema(&json!({"const": value})).unwrap();
        let tags = Tags::new()
            .with_tag(Tag::new("<tool_call>", content, "</tool_call>"))
            .with_count(Count::ONE);
        let automaton = tags.compile(&vocabulary).unwrap();
        let mut text = Vec::new();
        automaton.completion(&automaton.start(), fsm_index::MAX_COMPLETION, &mut text);
        assert!(automaton.is_match(&text));
        let text = String::from_utf8(text).unwrap();
        let inside = text.strip_prefix("<tool_call>").unwrap();
        let (inside, rest) = inside.split_once("</tool_call>").unwrap();
        assert!(rest.is_empty());
        assert_eq!(serde_json::from_str::<Value>(inside).unwrap(), value);
        let effort = Effort {
            walks: 12,
            tokens: 30,
            seed: 5,
        };
        contract::check(&automaton, &vocabulary, &["<tool_call>\""], effort).unwrap();
    }
}

/// A tag may end in what its JSON cannot do without: the object itself says where it ends.
#[test]
fn an_end_that_json_needs() {
    let vocabulary = vocabulary(&PIECES, &[]);
    let tags = Tags::new()
        .with_tag(Tag::new("{\"call\": ", weather(), "}"))
        .without_text_behind();
    let automaton = tags.compile(&vocabulary).unwrap();
    let text = "Hm. {\"call\": {\"city\": \"}\"}";
    assert!(automaton.is_match(format!("{text}}}").as_bytes()));
    assert!(!automaton.is_match(text.as_bytes()));
    assert!(!automaton.is_match(format!("{text}}}}}").as_bytes()));
    let effort = Effort {
        walks: 12,
        tokens: 30,
        seed: 5,
    };
    contract::check(&automaton, &vocabulary, &["{\"call\": {"], effort).unwrap();
}

#[test]
fn limits_have_errors_of_their_own() {
    let vocabulary = vocabulary(&[], &[]);
    let tag = |at: usize| {
        let content = Content::text(None);
        Tag::new(format!("<{at}>"), content, format!("</{at}>"))
    };
    let many = (0..40).fold(Tags::new(), |tags, at| tags.with_tag(tag(at)));
    let count = |least| Count {
        least,
        most: Some(least),
    };
    let error = |tags: &Tags| tags.compile(&vocabulary).unwrap_err();
    let parts = error(&many.clone().with_count(count(MAX_COUNT)));
    assert!(
        parts.to_string().contains(&MAX_PARTS.to_string()),
        "{parts}"
    );
    let counted = error(&many.clone().with_count(count(MAX_COUNT + 1)));
    assert_eq!(counted.kind(), ErrorKind::InvalidParameter);
    assert!(many.with_count(count(8)).compile(&vocabulary).is_ok());
    let wide = Content::regex("[ab]*a[ab]{13}").unwrap();
    let states = error(&Tags::new().with_tag(Tag::new("<a>", wide, "</a>")));
    let most = MAX_QUIET_STATES.to_string();
    assert!(states.to_string().contains(&most), "{states}");
}
