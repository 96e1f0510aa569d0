//! Reading whole responses: MB/s by style and size, beside `serde_json` on the same JSON.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use response_parser::ResponseSchema;
use serde_json::{Value, json};

/// Reasoning in tags, tool calls as JSON in tags, the answer after them.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "role": {"const": "assistant"},
            "thinking": {"type": "string", "x-regex": r"<think>\s*(.*?)\s*</think>"},
            "content": {"type": "string", "x-regex": r"</think>\s*([^<]*?)\s*(?:<tool_call>|$)"},
            "tool_calls": {
                "x-regex-iterator": r"<tool_call>\s*(.*?)\s*</tool_call>",
                "type": "array",
                "items": {"x-parser": "json"}
            }
        }
    })
}

fn call(i: usize) -> String {
    format!(
        r#"{{"name": "search", "arguments": {{"query": "number {i}", "limit": {i}, "exact": true, "tags": ["a", "b"], "weight": 0.5}}}}"#
    )
}

fn response(calls: usize) -> String {
    let reasoning = "First this, then that, and no < in between is a tag. ".repeat(calls * 4);
    let calls: String = (0..calls)
        .map(|i| format!("<tool_call>\n{}\n</tool_call>\n", call(i)))
        .collect();
    format!("<think>\n{reasoning}\n</think>\nHere you are.\n{calls}")
}

fn whole_responses(criterion: &mut Criterion) {
    let schema = ResponseSchema::new(&schema()).unwrap();
    let mut group = criterion.benchmark_group("response");
    for calls in [1, 12, 400] {
        let text = response(calls);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(
            BenchmarkId::new("tags and JSON", text.len()),
            &text,
            |b, text| {
                b.iter(|| schema.parse(black_box(text)).unwrap());
            },
        );
    }
    group.finish();
}

fn json_alone(criterion: &mut Criterion) {
    let schema = ResponseSchema::new(&json!({"x-parser": "json"})).unwrap();
    let text = format!("[{}]", (0..40).map(call).collect::<Vec<_>>().join(", "));
    let mut group = criterion.benchmark_group("json");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("response-parser", |b| {
        b.iter(|| schema.parse(black_box(&text)).unwrap());
    });
    group.bench_function("serde_json", |b| {
        b.iter(|| serde_json::from_str::<Value>(black_box(&text)).unwrap());
    });
    group.finish();
}

fn compiling(criterion: &mut Criterion) {
    let schema = schema();
    criterion.bench_function("compile a response schema", |b| {
        b.iter(|| ResponseSchema::new(black_box(&schema)).unwrap());
    });
}

criterion_group!(benches, whole_responses, json_alone, compiling);
criterion_main!(benches);
