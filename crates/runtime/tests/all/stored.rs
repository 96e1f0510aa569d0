//! What is stored or sent: to JSON and back.

#![cfg(all(feature = "embedded", feature = "tools"))]

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokenmold::agent::{Ended, Reply};
use tokenmold::embedded;
use tokenmold::fsm_index::{Fill, Guide, Index, IndexStats, Place, TokenId};
use tokenmold::generate::{
    Event, Explanations, Flow, Generation, Prompt, Request, Session, TokenBudget,
};
use tokenmold::gpu::DeviceChoice;
use tokenmold::model::{Dtype, LoadOptions, WeightFormat};
use tokenmold::response_parser::{self, Family, ResponseTemplate, Turn};
use tokenmold::sampling::SamplingConfig;
use tokenmold::schema_regex::automaton::SchemaAutomaton;
use tokenmold::schema_regex::{self, Caps, Formats, Options, Whitespace};
use tokenmold::tools::ToolCall;

/// Writes a value, reads it again, and gives what was written.
fn through<T: Serialize + DeserializeOwned>(value: &T) -> (Value, T) {
    let text = serde_json::to_string(value).unwrap();
    let json = serde_json::from_str(&text).unwrap();
    (json, serde_json::from_str(&text).unwrap())
}

#[test]
fn options_are_read_from_files_in_part_or_whole() {
    let options = Options::default()
        .with_whitespace(Whitespace::Bounded(3))
        .with_formats(Formats::Strict)
        .with_caps(Caps::default().with_items(4));
    let (json, read) = through(&options);
    assert_eq!(json["whitespace"], json!({"bounded": 3}));
    assert_eq!(json["formats"], "strict");
    assert_eq!(read, options);
    let part = json!({"whitespace": "compact", "caps": {"length": 9}});
    let part: Options = serde_json::from_value(part).unwrap();
    let caps = Caps::default().with_length(9);
    assert_eq!(
        part,
        Options::default()
            .with_whitespace(Whitespace::Compact)
            .with_caps(caps)
    );
    let wrong = serde_json::from_value::<Options>(json!({"formats": "some"}));
    assert!(wrong.unwrap_err().to_string().contains("`some`"));

    let sampling = SamplingConfig::with_temperature(0.5, 7).with_top_p(0.9);
    assert_eq!(through(&sampling).1, sampling);
    let part: SamplingConfig = serde_json::from_value(json!({"top_k": 5})).unwrap();
    assert_eq!(part, SamplingConfig::greedy().with_top_k(5));

    let load = LoadOptions::default()
        .with_dtype(Dtype::Bf16)
        .with_weights(WeightFormat::Q8_0)
        .with_device(DeviceChoice::Cuda(1));
    let (json, read) = through(&load);
    assert_eq!(
        json,
        json!({"weights": "q8_0", "dtype": "bf16", "device": "cuda:1"})
    );
    assert_eq!(format!("{read:?}"), format!("{load:?}"));
    let device = serde_json::from_value::<DeviceChoice>(json!("tpu"));
    assert!(device.unwrap_err().to_string().contains("`tpu`"));

    let request = Request::new(Prompt::Chat("Hi".to_owned()))
        .with_budget(TokenBudget::Complete)
        .with_stop_strings(["."]);
    let (json, read) = through(&request);
    assert_eq!(json["prompt"], json!({"chat": "Hi"}));
    assert_eq!(format!("{read:?}"), format!("{request:?}"));
}

#[test]
fn results_and_events_are_stored_as_they_are() {
    let mut loaded = embedded::load().unwrap();
    let schema = json!({"type": "object", "properties": {"age": {"type": "integer", "maximum": 99, "minimum": 1}}, "required": ["age"], "additionalProperties": false});
    let automaton = SchemaAutomaton::new(&schema, &Options::default()).unwrap();
    let vocabulary = loaded.tokenizer.vocabulary();
    let index = Arc::new(Index::lazy(automaton, vocabulary, &Default::default()).unwrap());
    let mut guide = Guide::new(index.clone());
    let request = Request::new(Prompt::Text("Zoe, 12".to_owned()))
        .with_explanations(Explanations::Give)
        .with_show_probabilities(2);
    let mut events = Vec::new();
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let generation = session
        .generate(&request, Some(&mut guide), &mut |event: &Event<'_>| {
            events.push(json!(event));
            Flow::Continue
        })
        .unwrap();
    let (json, read): (Value, Generation) = through(&generation);
    assert_eq!(json["finish"], "complete");
    assert_eq!(format!("{read:?}"), format!("{generation:?}"));
    assert!(events[0]["prompt"]["tokens"].is_array(), "{}", events[0]);
    let tokens: Vec<&Value> = events.iter().map(|event| &event["token"]).collect();
    let tokens: Vec<&&Value> = tokens.iter().filter(|token| token.is_object()).collect();
    assert_eq!(tokens.len(), generation.tokens.len());
    assert!(tokens.iter().any(|token| token["explanation"].is_object()));
    assert!(
        tokens
            .iter()
            .all(|token| token["place"]["state"].is_string())
    );

    let stats: IndexStats = through(&index.stats()).1;
    assert_eq!(stats, index.stats());
    assert_eq!(through(&TokenId::new(7)).0, json!(7));
    assert_eq!(through(&Fill::Lazy).0, json!("lazy"));
    let place: Place = serde_json::from_value(tokens[0]["place"].clone()).unwrap();
    assert!(!place.state.is_empty());

    let reply = json!({"content": "Hi", "metadata": null, "ended": "finished", "steps": 2});
    let reply: Reply = serde_json::from_value(reply).unwrap();
    assert_eq!((reply.ended, reply.steps), (Ended::Finished, 2));
    let call = json!({"id": null, "name": "f", "arguments": {"n": 1}});
    let call: ToolCall = serde_json::from_value(call).unwrap();
    assert_eq!(through(&call).1, call);
}

/// Events are as the reference writes them.
#[test]
fn events_of_a_response_are_as_they_say_themselves() {
    let template = ResponseTemplate::of_family(Family::HERMES).unwrap();
    let mut stream = template.stream(&Turn::after("")).unwrap();
    let said = "<think>\nhm\n</think>ok<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
    let mut events = stream.feed(said).unwrap();
    let finished = stream.finish().unwrap();
    assert_eq!(through(&finished).1, finished);
    events.extend(finished.events);
    assert!(events.len() > 6);
    for event in events {
        let (json, read): (_, response_parser::Event) = through(&event);
        assert_eq!(json, event.to_json());
        assert_eq!(read, event);
    }
}

#[test]
fn a_ledger_says_what_became_of_keywords() {
    let schema =
        json!({"type": "array", "items": {"type": "integer"}, "uniqueItems": true, "max_items": 3});
    let parsed = schema_regex::parse(&schema).unwrap();
    let ledger = json!(parsed.ledger(&Options::default()));
    let of = |keyword: &str| {
        let entries = ledger.as_array().unwrap();
        let found = entries
            .iter()
            .rev()
            .find(|entry| entry["keyword"] == keyword);
        found.unwrap().clone()
    };
    assert_eq!(
        of("type"),
        json!({"pointer": "/items/type", "keyword": "type", "status": "enforced"})
    );
    assert_eq!(of("max_items")["suggestion"], "maxItems");
    assert_eq!(of("uniqueItems")["status"], "refused");
    assert!(of("uniqueItems")["reason"].is_string());
}
