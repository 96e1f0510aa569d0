//! How fast responses are read: whole and streamed, beside `serde_json` on the JSON alone.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use response_parser::{Event, Family, ResponseSchema, ResponseTemplate, Turn};
use serde_json::{Value, json};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "role": {"const": "assistant"},
            "thinking": {"type": "string", "x-regex": r"<think>\s*(.*?)\s*</think>"},
            "content": {"type": "string", "x-regex": r"</think>\s*([^<]+?)\s*(?:<tool_call>|$)"},
            "tool_calls": {
                "x-regex-iterator": r"<tool_call>\s*(.*?)\s*</tool_call>",
                "type": "array",
                "items": {"x-parser": "json", "type": "any"}
            }
        }
    })
}

fn call(i: usize) -> String {
    format!(
        r#"{{"name": "search", "arguments": {{"query": "number {i}", "limit": {i}, "exact": true, "tags": ["a", "b"], "weight": 0.5}}}}"#
    )
}

fn reasoning(bytes: usize) -> String {
    let sentence = "First this, then that, and no angle in between is a tag. ";
    sentence.repeat(bytes.div_ceil(sentence.len()))
}

/// About `bytes` of text, half of it reasoning, half of it calls.
fn response(bytes: usize) -> String {
    let calls: String = (0..bytes.div_ceil(2 * 150))
        .map(|i| format!("<tool_call>\n{}\n</tool_call>\n", call(i)))
        .collect();
    format!(
        "<think>\n{}\n</think>\n\nHere you are.\n{calls}",
        reasoning(bytes / 2)
    )
}

/// About `bytes` of text, all of it reasoning.
fn prose(bytes: usize) -> String {
    format!("<think>\n{}\n</think>\n\nDone.", reasoning(bytes))
}

/// The text in pieces of about a token each.
fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes().chunks(4);
    bytes
        .map(|token| std::str::from_utf8(token).unwrap_or_default())
        .collect()
}

fn whole(criterion: &mut Criterion) {
    let schema = ResponseSchema::new(&schema()).unwrap();
    let template = ResponseTemplate::of_family(Family::HERMES).unwrap();
    let turn = Turn::after("");
    let mut group = criterion.benchmark_group("whole");
    for (name, text) in [
        ("mixed 4 kB", response(4_000)),
        ("mixed 200 kB", response(200_000)),
        ("prose 4 kB", prose(4_000)),
        ("prose 200 kB", prose(200_000)),
    ] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::new("schema", name), &text, |b, text| {
            b.iter(|| schema.parse(black_box(text)).unwrap());
        });
        group.bench_with_input(BenchmarkId::new("template", name), &text, |b, text| {
            b.iter(|| template.parse_turn(&turn, black_box(text)).unwrap());
        });
    }
    group.finish();
}

fn streamed(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("streamed, a token of 4 bytes at a time");
    let turn = Turn::after("");
    for (name, text) in [
        ("mixed 4 kB", response(4_000)),
        ("prose 4 kB", prose(4_000)),
    ] {
        let tokens = tokens(&text);
        group.throughput(Throughput::Elements(tokens.len() as u64));
        for format in [Family::HERMES, Family::SMOLLM3] {
            let template = ResponseTemplate::of_family(format).unwrap();
            let id = BenchmarkId::new(format.name(), name);
            group.bench_with_input(id, &tokens, |b, tokens| {
                b.iter(|| {
                    let mut stream = template.stream(&turn).unwrap();
                    let mut events: Vec<Event> = Vec::new();
                    for token in tokens {
                        events.clear();
                        stream.feed_into(black_box(token), &mut events).unwrap();
                    }
                    stream.finish().unwrap()
                });
            });
        }
        let template = ResponseTemplate::of_family(Family::HERMES).unwrap();
        let id = BenchmarkId::new("hermes, with partial values", name);
        group.bench_with_input(id, &tokens, |b, tokens| {
            b.iter(|| {
                let mut stream = template.stream(&turn).unwrap();
                for token in tokens {
                    stream.feed(black_box(token)).unwrap();
                    black_box(stream.partial().is_some());
                }
                stream.finish().unwrap()
            });
        });
    }
    group.finish();
}

fn json_alone(criterion: &mut Criterion) {
    let schema = ResponseSchema::new(&json!({"x-parser": "json"})).unwrap();
    let mut group = criterion.benchmark_group("json");
    let calls: Vec<String> = (0..40).map(call).collect();
    let strings: Vec<String> = (0..40).map(|_| json!(reasoning(200)).to_string()).collect();
    for (name, text) in [
        ("calls", format!("[{}]", calls.join(", "))),
        ("strings", format!("[{}]", strings.join(", "))),
    ] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("response-parser", name), |b| {
            b.iter(|| schema.parse(black_box(&text)).unwrap());
        });
        group.bench_function(BenchmarkId::new("serde_json", name), |b| {
            b.iter(|| serde_json::from_str::<Value>(black_box(&text)).unwrap());
        });
    }
    group.finish();
}

fn compiling(criterion: &mut Criterion) {
    let json = schema();
    criterion.bench_function("compile a response schema", |b| {
        b.iter(|| ResponseSchema::new(black_box(&json)).unwrap());
    });
    criterion.bench_function("compile a response template", |b| {
        b.iter(|| ResponseTemplate::of_family(black_box(Family::HERMES)).unwrap());
    });
}

criterion_group!(benches, whole, streamed, json_alone, compiling);
criterion_main!(benches);
