//! What bounds a text besides its constraint: a token budget, stop strings, a
//! least length, biases; and how probable its tokens were.

#![cfg(feature = "embedded")]

use std::sync::Arc;

use fsm_index::{Config, Fill, Guide, Index, IndexConfig, TokenId};
use proptest::prelude::*;
use schema_regex::automaton::SchemaAutomaton;
use serde_json::{Value, json};
use tokenmold::chat::chatml;
use tokenmold::constraint::Constraint;
use tokenmold::generate::{
    Event, Finish, Flow, ForcedTokens, Generation, LogProbabilities, Prompt, Request, Session,
    TokenBudget,
};
use tokenmold::model::LoadedModel;
use tokenmold::sampling::{SamplingConfig, log_probability, top_probabilities};
use tokenmold::tokenizer::Surround;
use tokenmold::{Error, ErrorKind, embedded};

fn guide(regex: &str, loaded: &LoadedModel) -> Guide {
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let vocabulary = loaded.tokenizer.vocabulary();
    let index = Index::with_config(regex, vocabulary, &Config::default(), &lazy).unwrap();
    Guide::new(Arc::new(index))
}

fn request() -> Request {
    let prompt = chatml::prompt("List the values as JSON.", "Zoe, 12, Paris");
    Request::new(Prompt::Chat(prompt))
}

fn run(
    loaded: &mut LoadedModel,
    request: &Request,
    guide: Option<&mut Guide>,
) -> Result<Generation, Error> {
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let guide = guide.map(|guide| guide as &mut dyn Constraint);
    session.generate(request, guide, &mut |_| Flow::Continue)
}

/// Tokens of a shortest text, as the tokenizer cuts it.
fn witness(loaded: &LoadedModel, guide: &Guide) -> usize {
    let bytes = Constraint::completion(guide).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    loaded
        .tokenizer
        .encode(&text, Surround::Omit)
        .unwrap()
        .len()
}

const REGEXES: [&str; 8] = [
    r#"\{"name":"[A-Z][a-z]{0,30}","age":[1-9][0-9]?\}"#,
    r#"\[("[a-zé ]*"(,"[a-zé ]*")*)?\]"#,
    r"(yes|no|maybe, but [a-z ]{1,200}\.)",
    r"a{3}b*c{5}",
    r"[^x]*é✓😀",
    r"(short|[a-z]{40,80})",
    r"([0-9]{2}|\[[0-9]{2}(, [0-9]{2}){0,20}\])",
    r"x*",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever is drawn, and however tight it is, the text is complete.
    #[test]
    fn a_text_is_complete_within_its_budget(
        which in 0..REGEXES.len(),
        more in prop::sample::select(vec![0usize, 1, 2, 5, 20]),
        temperature in prop::sample::select(vec![0.0f32, 1.0, 8.0]),
        seed in 0u64..1000,
        draw in any::<bool>(),
    ) {
        let mut loaded = embedded::load().unwrap();
        let mut guide = guide(REGEXES[which], &loaded);
        let budget = witness(&loaded, &guide) + more;
        let request = request()
            .with_max_tokens(budget)
            .with_budget(TokenBudget::Complete)
            .with_forced(if draw { ForcedTokens::Draw } else { ForcedTokens::Append })
            .with_sampling(SamplingConfig::with_temperature(temperature, seed));
        let generation = run(&mut loaded, &request, Some(&mut guide)).unwrap();
        prop_assert!(generation.complete, "{:?}", generation.text);
        prop_assert!(generation.tokens.len() <= budget);
        prop_assert!(guide.index().automaton().accepts(&generation.text));
    }
}

#[test]
fn schemas_are_kept_within_a_budget() {
    let mut loaded = embedded::load().unwrap();
    let schemas = [
        serde_json::from_str::<Value>(embedded::DEMO_SCHEMA).unwrap(),
        json!({"type": "array", "items": {"type": "integer"}, "minItems": 2}),
        json!({
            "type": "object", "additionalProperties": false, "required": ["a"],
            "properties": {"a": {"type": "string"}, "b": {"enum": ["x", null, 1.5]}},
        }),
    ];
    for schema in schemas {
        let parsed = schema_regex::parse(&schema).unwrap();
        let regex = schema_regex::to_regex(&parsed, &schema_regex::Options::default()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for more in [0, 5, 200] {
            for seed in 0..3 {
                let mut guide = guide(&regex, &loaded);
                let budget = witness(&loaded, &guide) + more;
                let request = request()
                    .with_max_tokens(budget)
                    .with_budget(TokenBudget::Complete)
                    .with_sampling(SamplingConfig::with_temperature(2.0, seed));
                let generation = run(&mut loaded, &request, Some(&mut guide)).unwrap();
                let value: Value = serde_json::from_str(&generation.text).unwrap();
                assert!(validator.is_valid(&value), "{value}");
                assert!(generation.complete && generation.tokens.len() <= budget);
            }
        }
    }
}

/// Generates within a budget and compares the mask of each step with that of a constraint which is led beside it.
/// How many masks were narrower than without a budget.
fn assert_masks(
    loaded: &mut LoadedModel,
    new: impl Fn(&LoadedModel) -> Box<dyn Constraint>,
    budget: usize,
    seed: u64,
    draw: ForcedTokens,
) -> usize {
    let width = loaded.tokenizer.vocabulary().width();
    let request = request()
        .with_max_tokens(budget)
        .with_budget(TokenBudget::Complete)
        .with_forced(draw)
        .with_show_probabilities(width)
        .with_sampling(SamplingConfig::with_temperature(2.0, seed));
    let mut steps: Vec<(u32, Option<Vec<u32>>)> = Vec::new();
    let mut bound = new(loaded);
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let generation = session
        .generate(&request, Some(&mut *bound), &mut |event| {
            if let Event::Token(token) = event {
                let listed = token.probabilities.as_ref().map(|p| {
                    let mut after: Vec<u32> = p.after.iter().map(|p| p.token).collect();
                    after.sort_unstable();
                    after
                });
                steps.push((token.token, listed));
            }
            Flow::Continue
        })
        .unwrap();
    assert!(generation.complete && generation.tokens.len() <= budget);

    let allowed = |constraint: &mut Box<dyn Constraint>| -> Vec<u32> {
        let mask = constraint.mask().unwrap().to_vec();
        let tokens = 0..width as u32;
        tokens
            .filter(|t| mask[*t as usize / 32] >> (t % 32) & 1 == 1)
            .collect()
    };
    let (mut free, mut bounded) = (new(loaded), new(loaded));
    bounded.set_budget(Some(budget)).unwrap();
    let mut narrower = 0;
    for (at, (token, listed)) in steps.into_iter().enumerate() {
        if let Some(listed) = listed {
            assert_eq!(listed, allowed(&mut bounded), "step {at}");
            narrower += usize::from(listed != allowed(&mut free));
        }
        free.advance(token).unwrap();
        bounded.advance(token).unwrap();
    }
    narrower
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// Each token is drawn from the mask that the constraint has within its budget.
    #[test]
    fn the_mask_is_narrowed_near_the_end_alone(
        which in 0..REGEXES.len(),
        more in prop::sample::select(vec![0usize, 2, 7, 30, 60]),
        seed in 0u64..1000,
        draw in any::<bool>(),
    ) {
        let mut loaded = embedded::load().unwrap();
        let budget = witness(&loaded, &guide(REGEXES[which], &loaded)) + more;
        let draw = if draw { ForcedTokens::Draw } else { ForcedTokens::Append };
        let new = |loaded: &LoadedModel| -> Box<dyn Constraint> { Box::new(guide(REGEXES[which], loaded)) };
        assert_masks(&mut loaded, new, budget, seed, draw);
    }
}

fn schema_guide(schema: &Value, loaded: &LoadedModel) -> Guide<SchemaAutomaton> {
    let automaton = SchemaAutomaton::new(schema, &schema_regex::Options::default()).unwrap();
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::lazy(automaton, loaded.tokenizer.vocabulary(), &lazy).unwrap();
    Guide::new(Arc::new(index))
}

#[test]
fn masks_of_schemas_are_narrowed_exactly() {
    let mut loaded = embedded::load().unwrap();
    let schemas = [
        serde_json::from_str::<Value>(embedded::DEMO_SCHEMA).unwrap(),
        json!({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}, "minItems": 1}),
        json!({
            "type": "object", "additionalProperties": false, "required": ["a"],
            "properties": {
                "a": {"type": "string"},
                "b": {"type": "object", "properties": {"long name of a key": {"enum": ["x", null]}},
                      "required": ["long name of a key"], "additionalProperties": false},
                "c": {"oneOf": [{"type": "boolean"}, {"type": "string", "minLength": 12}]},
            },
        }),
    ];
    let mut narrower = 0;
    for schema in &schemas {
        for (more, seed) in [(0, 0), (3, 1), (12, 2), (40, 3)] {
            let budget = schema_guide(schema, &loaded).tokens_needed().unwrap() + more;
            let new = |loaded: &LoadedModel| -> Box<dyn Constraint> {
                Box::new(schema_guide(schema, loaded))
            };
            narrower += assert_masks(&mut loaded, new, budget, seed, ForcedTokens::Append);
        }
    }
    assert!(narrower > 30, "{narrower} narrower masks");
}

#[test]
fn reasoning_leaves_room_for_the_answer() {
    let mut loaded = embedded::load().unwrap();
    let regex = r#"<think>[^<]*</think>\{"answer":(true|false),"why":"[a-z ]*"\}"#;
    for (budget, seed) in [(30, 0), (40, 1), (60, 2), (120, 3)] {
        let mut guide = guide(regex, &loaded);
        let request = request()
            .with_max_tokens(budget)
            .with_budget(TokenBudget::Complete)
            .with_sampling(SamplingConfig::with_temperature(3.0, seed));
        let generation = run(&mut loaded, &request, Some(&mut guide)).unwrap();
        assert!(generation.complete && generation.tokens.len() <= budget);
        let (_, answer) = generation.text.split_once("</think>").unwrap();
        let answer: Value = serde_json::from_str(answer).unwrap();
        assert!(answer["answer"].is_boolean() && answer["why"].is_string());
    }
}

#[test]
fn ample_room_changes_nothing() {
    let mut loaded = embedded::load().unwrap();
    for regex in [REGEXES[0], REGEXES[1], REGEXES[2]] {
        let texts: Vec<String> = [TokenBudget::Cut, TokenBudget::Complete]
            .into_iter()
            .map(|budget| {
                let mut guide = guide(regex, &loaded);
                let request = request()
                    .with_max_tokens(300)
                    .with_budget(budget)
                    .with_sampling(SamplingConfig::with_temperature(0.8, 7));
                run(&mut loaded, &request, Some(&mut guide)).unwrap().text
            })
            .collect();
        assert_eq!(texts[0], texts[1]);
    }
}

/// Knows nothing of its texts' ends.
struct Blind(Guide);

impl Constraint for Blind {
    fn mask(&mut self) -> Result<&[u32], Error> {
        Constraint::mask(&mut self.0)
    }

    fn width(&self) -> usize {
        Constraint::width(&self.0)
    }

    fn advance(&mut self, token: u32) -> Result<(), Error> {
        Ok(self.0.advance(TokenId::new(token))?)
    }

    fn rollback(&mut self, count: usize) -> Result<(), Error> {
        Ok(self.0.rollback(count)?)
    }

    fn is_accepting(&self) -> bool {
        self.0.is_accepting()
    }

    fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    fn forced_tokens(&self, _: &mut dyn FnMut(&[u8]) -> Vec<u32>) -> Vec<u32> {
        Vec::new()
    }
}

#[test]
fn a_budget_that_cannot_be_kept_is_refused_at_once() {
    let mut loaded = embedded::load().unwrap();
    let mut guide = guide("abcdefgh[0-9]{20}", &loaded);
    let needed = witness(&loaded, &guide);
    let request = request()
        .with_max_tokens(needed - 1)
        .with_budget(TokenBudget::Complete);
    let error = run(&mut loaded, &request, Some(&mut guide)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TokenBudget);
    let expected = format!(
        "`max_tokens` is too little: the shortest text takes {needed} tokens, and {} may come; \
         allow {needed} or more",
        needed - 1
    );
    assert_eq!(error.to_string(), expected);
    let mut blind = Blind(guide);
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let error = session.generate(&request, Some(&mut blind), &mut |_| Flow::Continue);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::TokenBudget);
}

#[test]
fn stop_strings_end_the_text_and_are_no_part_of_it() {
    let mut loaded = embedded::load().unwrap();
    let free = run(&mut loaded, &request(), None).unwrap();
    let middle = free
        .text
        .char_indices()
        .nth(free.text.chars().count() / 2)
        .unwrap()
        .0;
    let stop = &free.text[middle..middle + 3];
    let at = free.text.find(stop).unwrap();
    let request = request().with_stop_strings(["never said", stop]);
    let mut shown = String::new();
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let stopped = session
        .generate(&request, None, &mut |event| {
            if let tokenmold::generate::Event::Token(token) = event {
                shown.push_str(token.text);
            }
            Flow::Continue
        })
        .unwrap();
    assert_eq!(stopped.text, free.text[..at]);
    assert_eq!(stopped.finish, Finish::StopString(1));
    assert_eq!(shown, stopped.text);
    assert!(stopped.tokens.len() < free.tokens.len());

    let mut constrained = guide("[a-z]{5,9}", &loaded);
    let any: Vec<String> = ('a'..='z').map(String::from).collect();
    let request = request.with_stop_strings(any);
    let generation = run(&mut loaded, &request, Some(&mut constrained)).unwrap();
    assert_eq!(generation.text, "");
    assert!(!generation.complete);
}

#[test]
fn a_text_has_its_least_length() {
    let mut loaded = embedded::load().unwrap();
    let free = run(&mut loaded, &request(), None).unwrap();
    let least = free.tokens.len() + 5;
    let longer = run(&mut loaded, &request().with_min_tokens(least), None).unwrap();
    assert!(longer.tokens.len() >= least);
    // A constraint that leaves nothing else ends the text all the same.
    let mut short = guide("(a|b)", &loaded);
    let request = request().with_min_tokens(50);
    let generation = run(&mut loaded, &request, Some(&mut short)).unwrap();
    assert!(generation.complete);
    let mut open = guide("[ab]*", &loaded);
    let request = request.with_max_tokens(60);
    let generation = run(&mut loaded, &request, Some(&mut open)).unwrap();
    assert!(generation.tokens.len() >= 50);
    // A budget goes before a least length.
    let mut tight = guide("[ab]{0,3}", &loaded);
    let request = request
        .with_max_tokens(55)
        .with_budget(TokenBudget::Complete);
    assert!(
        run(&mut loaded, &request, Some(&mut tight))
            .unwrap()
            .complete
    );
}

#[test]
fn biases_ban_and_favour() {
    let mut loaded = embedded::load().unwrap();
    let free = run(&mut loaded, &request(), None).unwrap();
    let banned = free.tokens[0];
    let ban = request().with_logit_bias(vec![(banned, f32::NEG_INFINITY)]);
    assert!(
        !run(&mut loaded, &ban, None)
            .unwrap()
            .tokens
            .contains(&banned)
    );
    let favoured = loaded.tokenizer.encode("b", Surround::Omit).unwrap()[0];
    let mut letters = guide("[a-z]{3}", &loaded);
    let favour = request().with_logit_bias(vec![(favoured, 500.0), (favoured, 500.0)]);
    let generation = run(&mut loaded, &favour, Some(&mut letters)).unwrap();
    assert_eq!(generation.text, "bbb");
    for bias in [(u32::MAX, 1.0), (0, f32::NAN), (0, f32::INFINITY)] {
        let request = request().with_logit_bias(vec![bias]);
        let error = run(&mut loaded, &request, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParameter);
    }
}

#[test]
fn probabilities_are_told_with_and_without_the_mask() {
    let mut loaded = embedded::load().unwrap();
    let mut constraint = guide(r"\[[0-9]{2}, [a-z]{1,3}\]", &loaded);
    let request = request().with_log_probabilities(LogProbabilities::Compute);
    let generation = run(&mut loaded, &request, Some(&mut constraint)).unwrap();
    assert_eq!(generation.log_probabilities.len(), generation.tokens.len());
    let told = generation.log_probabilities.iter().zip(&generation.forced);
    for (probability, forced) in told {
        assert_eq!(probability.free.is_none(), *forced);
        assert!(probability.allowed <= 0.0);
        if let Some(free) = probability.free {
            // Leaving tokens out makes the others more probable.
            assert!(free <= probability.allowed + 1e-5);
        }
    }
    let logits = [1.0, 3.0, f32::NEG_INFINITY, 2.0];
    for mask in [None, Some([0b1001u32].as_slice())] {
        for listed in top_probabilities(&logits, mask, 4) {
            let own = log_probability(&logits, mask, listed.token);
            assert!((own - listed.probability.ln()).abs() < 1e-6);
        }
    }
    assert_eq!(
        log_probability(&logits, Some(&[0b1001]), 1),
        f32::NEG_INFINITY
    );
    assert_eq!(log_probability(&logits, None, 2), f32::NEG_INFINITY);
}

/// A tokenizer with a special token for each of these markers.
fn with_specials(loaded: &LoadedModel, markers: &[&str]) -> tokenmold::tokenizer::Tokenizer {
    let mut json: Value = serde_json::from_str(include_str!("../../model/tokenizer.json")).unwrap();
    let width = loaded.tokenizer.vocabulary().width();
    let added = json["added_tokens"].as_array_mut().unwrap();
    for (marker, id) in markers.iter().zip(width..) {
        added.push(json!({
            "id": id, "content": marker, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true,
        }));
    }
    let tokenizer = tokenmold::tokenizer::Tokenizer::from_json(json.to_string().as_bytes());
    let ends: Vec<u32> = loaded
        .tokenizer
        .vocabulary()
        .ends()
        .iter()
        .map(|end| end.get())
        .collect();
    let tokenizer = tokenizer.unwrap();
    tokenizer.for_model(width + markers.len(), &ends).unwrap()
}

/// Draws by noise that a seed makes.
struct Noise {
    width: usize,
    seen: usize,
    seed: u32,
}

impl tokenmold::model::Model for Noise {
    fn forward(&mut self, tokens: &[u32], position: usize) -> Result<Vec<f32>, Error> {
        self.seen = position + tokens.len();
        let mut state = self.seed.wrapping_mul(7919).wrapping_add(self.seen as u32);
        let mut next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 22) as f32
        };
        Ok((0..self.width).map(&mut next).collect())
    }

    fn truncate(&mut self, length: usize) {
        self.seen = self.seen.min(length);
    }

    fn cached(&self) -> usize {
        self.seen
    }

    fn context_length(&self) -> usize {
        4096
    }

    fn vocabulary_width(&self) -> usize {
        self.width
    }
}

/// Markers that are tokens of their own are one token of the budget, and what
/// must come behind them counts.
#[test]
fn tags_with_special_tokens_are_kept_within_a_budget() {
    use tokenmold::response_parser::{Family, ResponseTemplate};
    use tokenmold::tags::{Count, Reasoning, ResponseFormat};

    let loaded = embedded::load().unwrap();
    let markers = ["<think>", "</think>", "<tool_call>", "</tool_call>"];
    let tokenizer = with_specials(&loaded, &markers);
    let vocabulary = tokenizer.vocabulary();
    let tools = [json!({"name": "weather", "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 3}},
        "required": ["city"],
        "additionalProperties": false
    }})];
    let format = ResponseFormat::named(Family::HERMES)
        .unwrap()
        .with_tools(&tools)
        .unwrap()
        .with_calls(Count::AT_LEAST_ONE)
        .with_reasoning(Reasoning::FREE);
    let automaton = format.compile(vocabulary).unwrap();
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Arc::new(Index::lazy(automaton, vocabulary, &lazy).unwrap());
    let shortest = Guide::new(index.clone()).completion().unwrap();
    let shortest = tokenizer.encode_after("", &shortest);
    assert!(shortest.iter().any(|token| !tokenizer.is_text(*token)));
    let template = ResponseTemplate::of_family(Family::HERMES).unwrap();
    for more in [0, 1, 5, 40] {
        for seed in 0..6 {
            let budget = shortest.len() + more;
            let mut model = Noise {
                width: vocabulary.width(),
                seen: 0,
                seed,
            };
            let request = Request::new(Prompt::Tokens(vec![5]))
                .with_max_tokens(budget)
                .with_budget(TokenBudget::Complete)
                .with_sampling(SamplingConfig::with_temperature(1.0, u64::from(seed)));
            let mut guide = Guide::new(index.clone());
            let mut session = Session::new(&mut model, &tokenizer);
            let generation = session
                .generate(&request, Some(&mut guide), &mut |_| Flow::Continue)
                .unwrap();
            assert!(generation.complete && generation.tokens.len() <= budget);
            let text = tokenizer.decode_with_structure(&generation.tokens);
            let message = template.parse(&text).unwrap();
            let city = &message["tool_calls"][0]["function"]["arguments"]["city"];
            assert!(
                city.as_str().is_some_and(|city| city.chars().count() > 2),
                "{text}"
            );
        }
    }
    let request = Request::new(Prompt::Tokens(vec![5]))
        .with_max_tokens(shortest.len() - 1)
        .with_budget(TokenBudget::Complete);
    let mut model = Noise {
        width: vocabulary.width(),
        seen: 0,
        seed: 0,
    };
    let mut session = Session::new(&mut model, &tokenizer);
    let mut guide = Guide::new(index);
    let error = session.generate(&request, Some(&mut guide), &mut |_| Flow::Continue);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::TokenBudget);
}

/// A long text is drawn in time that does not grow with the square of its length
/// times the places of the vocabulary.
#[test]
fn a_long_text_is_kept_within_a_budget() {
    let loaded = embedded::load().unwrap();
    let schema = json!({"type": "string", "pattern": "^[a-z ]{600}$"});
    let shortest = Constraint::completion(&schema_guide(&schema, &loaded))
        .unwrap()
        .len();
    for more in [0, 3, 200] {
        let mut model = Noise {
            width: loaded.tokenizer.vocabulary().width(),
            seen: 0,
            seed: 3,
        };
        let request = Request::new(Prompt::Tokens(vec![5]))
            .with_max_tokens(shortest + more)
            .with_budget(TokenBudget::Complete)
            .with_sampling(SamplingConfig::with_temperature(1.0, 1));
        let mut guide = schema_guide(&schema, &loaded);
        let mut session = Session::new(&mut model, &loaded.tokenizer);
        let generation = session.generate(&request, Some(&mut guide), &mut |_| Flow::Continue);
        assert!(generation.unwrap().complete);
    }
}
