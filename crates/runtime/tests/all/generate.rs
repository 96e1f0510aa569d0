//! The decode loop, on the embedded model and on a scripted one.

#![cfg(feature = "embedded")]

use std::sync::Arc;

use fsm_index::{Guide, Index, TokenId, Vocabulary};
use tokenmold::constraint::Constraint;
use tokenmold::generate::{
    Event, Finish, Flow, ForcedTokens, Generation, Prompt, Request, Session, TokenBudget,
};
use tokenmold::model::{LoadedModel, Model};
use tokenmold::sampling::SamplingConfig;
use tokenmold::{Error, ErrorKind, embedded};

fn guide(regex: &str, loaded: &LoadedModel) -> Guide {
    Guide::new(Arc::new(
        Index::new(regex, loaded.tokenizer.vocabulary()).unwrap(),
    ))
}

fn chat(text: &str) -> Request {
    Request::new(Prompt::Chat(tokenmold::chat::chatml::prompt(
        "List the values as JSON.",
        text,
    )))
}

fn run(loaded: &mut LoadedModel, request: &Request, guide: Option<&mut Guide>) -> Generation {
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let guide = guide.map(|guide| guide as &mut dyn Constraint);
    session
        .generate(request, guide, &mut |_| Flow::Continue)
        .unwrap()
}

#[test]
fn the_text_is_one_of_the_constraint_whatever_is_drawn() {
    let mut loaded = embedded::load().unwrap();
    let regexes = [
        r#"\{"name":"[A-Z][a-z]{2,8}","age":[1-9][0-9]?\}"#,
        r#"\[("[a-zé ]*"(,"[a-zé ]*"){0,2})?\]"#,
        "(yes|no|maybe, but [a-z ]{1,20}\\.)",
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}",
        "[^\"\\\\]{3,12}✓",
    ];
    for regex in regexes {
        let mut guide = guide(regex, &loaded);
        for seed in 0..4 {
            for forced in [ForcedTokens::Append, ForcedTokens::Draw] {
                let request = chat("Zoe, 12, Paris")
                    .with_sampling(SamplingConfig::with_temperature(1.5, seed))
                    .with_forced(forced)
                    .with_max_tokens(60);
                let taken = guide.len();
                guide.rollback(taken).unwrap();
                let generation = run(&mut loaded, &request, Some(&mut guide));
                let accepted = guide.index().automaton().accepts(&generation.text);
                assert_eq!(
                    generation.complete, accepted,
                    "{regex}: {}",
                    generation.text
                );
                let cut_off = matches!(generation.finish, Finish::Length);
                assert!(
                    generation.complete || cut_off,
                    "{regex}: {}",
                    generation.text
                );
                assert_eq!(generation.tokens.len(), generation.forced.len());
                let any_forced = generation.forced.contains(&true);
                assert!(forced == ForcedTokens::Append || !any_forced);
            }
        }
    }
}

#[test]
fn the_demonstration_ends_in_a_valid_object() {
    let mut loaded = embedded::load().unwrap();
    let schema: serde_json::Value = serde_json::from_str(embedded::DEMO_SCHEMA).unwrap();
    let parsed = schema_regex::parse(&schema).unwrap();
    let regex = schema_regex::to_regex(&parsed, &schema_regex::Options::default()).unwrap();
    let mut guide = guide(&regex, &loaded);
    let prompt = embedded::object_prompt(&schema, embedded::DEMO_REQUEST);
    let request = Request::new(Prompt::Chat(prompt)).with_max_tokens(200);
    let generation = run(&mut loaded, &request, Some(&mut guide));
    assert!(generation.complete, "{}", generation.text);
    let value: serde_json::Value = serde_json::from_str(&generation.text).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&value), "{value}");
}

#[test]
fn what_is_forced_is_read_in_one_step() {
    let mut loaded = embedded::load().unwrap();
    let mut constant = guide(r#"\{"answer":"forty two"\}"#, &loaded);
    let generation = run(&mut loaded, &chat("say it"), Some(&mut constant));
    assert_eq!(generation.text, r#"{"answer":"forty two"}"#);
    assert_eq!(generation.finish, Finish::Complete);
    assert!(generation.complete);
    assert!(generation.forced.iter().all(|forced| *forced));
    assert_eq!((generation.steps, generation.masks), (0, 0));

    let mut choice = guide(r#"\{"answer":"(left|right)","sure":true\}"#, &loaded);
    let appended = run(&mut loaded, &chat("which way"), Some(&mut choice));
    let taken = choice.len();
    choice.rollback(taken).unwrap();
    let request = chat("which way").with_forced(ForcedTokens::Draw);
    let drawn = run(&mut loaded, &request, Some(&mut choice));
    assert!(appended.complete && drawn.complete);
    assert!(
        appended.steps < drawn.steps,
        "{} < {}",
        appended.steps,
        drawn.steps
    );
    assert!(appended.masks < drawn.masks);
}

#[test]
fn pieces_of_the_stream_make_up_the_text() {
    let mut loaded = embedded::load().unwrap();
    let mut guide = guide(r#"\["[éöü✓]{3}","[a-z]{2}"\]"#, &loaded);
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let (mut streamed, mut tokens, mut prompts) = (String::new(), Vec::new(), 0);
    let request = chat("é, ab").with_sampling(SamplingConfig::with_temperature(1.0, 3));
    let generation = session
        .generate(&request, Some(&mut guide), &mut |event| {
            match event {
                Event::Token(token) => {
                    streamed.push_str(token.text);
                    tokens.push(token.token);
                    assert!(!token.text.contains(char::REPLACEMENT_CHARACTER));
                }
                Event::Prompt { reused, .. } => {
                    prompts += 1;
                    assert_eq!(*reused, 0);
                }
                _ => {}
            }
            Flow::Continue
        })
        .unwrap();
    assert_eq!(prompts, 1);
    assert_eq!(streamed, generation.text);
    assert_eq!(tokens, generation.tokens);
    assert!(generation.complete);
}

#[test]
fn a_text_cut_off_says_so() {
    let mut loaded = embedded::load().unwrap();
    let mut guide = guide("[a-z]{50,60}", &loaded);
    let generation = run(
        &mut loaded,
        &chat("go").with_max_tokens(5).with_budget(TokenBudget::Cut),
        Some(&mut guide),
    );
    assert_eq!(
        (generation.finish, generation.complete),
        (Finish::Length, false)
    );
    assert_eq!(generation.tokens.len(), 5);
    // Without a constraint there is nothing to be incomplete about.
    let generation = run(&mut loaded, &chat("a, b, c").with_max_tokens(1), None);
    assert_eq!(
        (generation.finish, generation.complete),
        (Finish::Length, true)
    );
    let generation = run(&mut loaded, &chat("a").with_max_tokens(0), None);
    assert_eq!(
        (generation.finish, generation.tokens.len()),
        (Finish::Length, 0)
    );

    let context = loaded.model.context_length();
    let request = Request::new(Prompt::Tokens(vec![40; context - 6]))
        .with_max_tokens(100)
        .with_budget(TokenBudget::Cut);
    let mut endless = self::guide("[a-z]{900}", &loaded);
    let generation = run(&mut loaded, &request, Some(&mut endless));
    assert_eq!(
        (generation.finish, generation.complete),
        (Finish::Context, false)
    );
    assert_eq!(generation.tokens.len(), 6);
}

#[test]
fn prompts_that_do_not_fit_are_refused_with_both_numbers() {
    let mut loaded = embedded::load().unwrap();
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let mut refused = |request: &Request| {
        let error = session
            .generate(request, None, &mut |_| Flow::Continue)
            .unwrap_err();
        (error.kind(), error.to_string())
    };
    let (kind, message) = refused(&Request::new(Prompt::Text("1".repeat(600))));
    assert_eq!(kind, ErrorKind::ContextLength);
    insta::assert_snapshot!(message, @"the prompt has 600 tokens, and the model's context 512, in which the answer must fit too; shorten the prompt");
    let (kind, message) = refused(&Request::new(Prompt::Text(String::new())));
    assert_eq!(kind, ErrorKind::ContextLength);
    insta::assert_snapshot!(message, @"the prompt has no tokens; the model needs at least one");
    let (kind, _) = refused(&Request::new(Prompt::Tokens(vec![5000])));
    assert_eq!(kind, ErrorKind::VocabularyMismatch);
    let mut hot = SamplingConfig::greedy();
    hot.temperature = -1.0;
    assert_eq!(
        refused(&chat("a").with_sampling(hot)).0,
        ErrorKind::InvalidParameter
    );
}

#[test]
fn a_constraint_over_another_vocabulary_is_refused() {
    let mut loaded = embedded::load().unwrap();
    let tokens = (0..=255_u8).map(|byte| ([byte], TokenId::new(u32::from(byte))));
    let other = Vocabulary::new(tokens, [TokenId::new(256)]).unwrap();
    let mut guide = Guide::new(Arc::new(Index::new("a+", &other).unwrap()));
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let error = session
        .generate(&chat("a"), Some(&mut guide), &mut |_| Flow::Continue)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::VocabularyMismatch);
    insta::assert_snapshot!(error, @"the constraint speaks of 257 tokens, the model of 1024; build it over the loaded model's vocabulary");
}

#[test]
fn a_vocabulary_that_cannot_spell_the_language_is_refused_naming_the_bytes() {
    let tokens = [("a", 0), ("b", 1)].map(|(text, id)| (text, TokenId::new(id)));
    let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)]).unwrap();
    let error: Error = Index::new("ab[xy]", &vocabulary).unwrap_err().into();
    assert_eq!(error.kind(), ErrorKind::Constraint);
    assert!(error.to_string().contains("`x`, `y`"), "{error}");
}

#[test]
fn a_session_does_not_read_again_what_it_has_seen() {
    let mut loaded = embedded::load().unwrap();
    let first = chat("Turin, Lagos, 17").with_max_tokens(20);
    let second = chat("Turin, Lagos, Rome").with_max_tokens(20);
    let alone = run(&mut loaded, &second, None);
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    session
        .generate(&first, None, &mut |_| Flow::Continue)
        .unwrap();
    let mut shared = 0;
    let after = session
        .generate(&second, None, &mut |event| {
            if let Event::Prompt { reused, .. } = event {
                shared = *reused;
            }
            Flow::Continue
        })
        .unwrap();
    assert!(shared > 10, "{shared}");
    assert_eq!(after.tokens, alone.tokens);
}

#[test]
fn the_caller_can_stop() {
    let mut loaded = embedded::load().unwrap();
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let mut seen = 0;
    let generation = session
        .generate(&chat("Turin, Lagos, 17"), None, &mut |event| {
            seen += usize::from(matches!(event, Event::Token(_)));
            if seen == 2 {
                Flow::Stop
            } else {
                Flow::Continue
            }
        })
        .unwrap();
    assert_eq!(
        (generation.finish, generation.tokens.len()),
        (Finish::Stopped, 2)
    );
    let never = session
        .generate(&chat("Turin"), None, &mut |_| Flow::Stop)
        .unwrap();
    assert_eq!((never.finish, never.tokens.len()), (Finish::Stopped, 0));

    let whole = session
        .generate(&chat("Turin, Lagos, 17"), None, &mut |_| Flow::Continue)
        .unwrap();
    let stop = whole.tokens[3];
    let request = chat("Turin, Lagos, 17").with_stop_tokens(vec![stop]);
    let stopped = session
        .generate(&request, None, &mut |_| Flow::Continue)
        .unwrap();
    assert_eq!(stopped.finish, Finish::StopToken);
    assert!(!stopped.tokens.contains(&stop));
}

#[test]
fn probabilities_before_and_after_the_mask_are_shown() {
    let mut loaded = embedded::load().unwrap();
    let mut guide = guide("[0-9]{3}", &loaded);
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let request = chat("Turin, Lagos").with_show_probabilities(4);
    let mut tables = Vec::new();
    session
        .generate(&request, Some(&mut guide), &mut |event| {
            if let Event::Token(token) = event {
                let table = token.probabilities.clone().unwrap();
                assert_eq!(table.after[0].token, token.token);
                tables.push(table);
            }
            Flow::Continue
        })
        .unwrap();
    let first = &tables[0];
    assert_eq!((first.before.len(), first.after.len()), (4, 4));
    // The model wants a bracket, the mask a digit.
    assert_ne!(first.before[0].token, first.after[0].token);
    let described = loaded.tokenizer.describe(first.after[0].token);
    assert!(
        described.bytes().all(|byte| byte.is_ascii_digit()),
        "{described}"
    );
    for table in &tables {
        for side in [&table.before, &table.after] {
            assert!(
                side.windows(2)
                    .all(|pair| pair[0].probability >= pair[1].probability)
            );
            assert!(side.iter().map(|p| p.probability).sum::<f32>() <= 1.0001);
        }
    }
}

/// A model that wants to say one thing, token by token.
struct Scripted {
    script: Vec<u32>,
    prompt: usize,
    seen: usize,
}

impl Model for Scripted {
    fn forward(&mut self, tokens: &[u32], position: usize) -> Result<Vec<f32>, Error> {
        self.seen = position + tokens.len();
        let mut logits = vec![0.0; self.vocabulary_width()];
        let next = self.script.get(self.seen - self.prompt).copied();
        logits[next.unwrap_or(2) as usize] = 10.0;
        Ok(logits)
    }

    fn truncate(&mut self, length: usize) {
        self.seen = self.seen.min(length);
    }

    fn cached(&self) -> usize {
        self.seen
    }

    fn context_length(&self) -> usize {
        100
    }

    fn vocabulary_width(&self) -> usize {
        1024
    }
}

#[test]
fn bytes_of_a_character_are_held_back_until_it_is_complete() {
    let tokenizer = embedded::load().unwrap().tokenizer;
    let byte = |byte: u8| tokenizer.token_to_id(&format!("<0x{byte:02X}>")).unwrap();
    let a = tokenizer.token_to_id("a").unwrap();
    // é, a check mark with a letter inside it, and the start of another.
    let script = vec![
        byte(0xc3),
        byte(0xa9),
        byte(0xe2),
        byte(0x9c),
        a,
        byte(0xe2),
    ];
    let mut model = Scripted {
        script,
        prompt: 1,
        seen: 0,
    };
    let mut session = Session::new(&mut model, &tokenizer);
    let mut pieces = Vec::new();
    let generation = session
        .generate(&Request::new(Prompt::Tokens(vec![5])), None, &mut |event| {
            if let Event::Token(token) = event {
                pieces.push(token.text.to_owned());
            }
            Flow::Continue
        })
        .unwrap();
    assert_eq!(pieces, ["", "é", "", "", "\u{fffd}a", ""]);
    assert_eq!(generation.text, "é\u{fffd}a\u{fffd}");
    assert_eq!(generation.finish, Finish::EndToken);
}

#[test]
fn forced_text_is_cut_as_the_tokenizer_cuts_it_there() {
    let tokenizer = embedded::load().unwrap().tokenizer;
    let names = |left: &str, text: &str| -> Vec<String> {
        let tokens = tokenizer.encode_after(left, text.as_bytes());
        tokens
            .iter()
            .map(|token| tokenizer.describe(*token))
            .collect()
    };
    assert_eq!(names("{\"", "priority").concat(), "priority");
    // The quote that stands before joins with what follows: nothing fits.
    assert!(names("{", "\"priority").is_empty());
    assert!(names("", "\u{e9}").len() == 2);
    // Bytes that are no text on their own.
    assert!(tokenizer.encode_after("a", &[0xa9]).is_empty());
}
