//! The end of a generation and its cost, for people and for machines. For example, "complete: 31
//! tokens (12 forced) in 150ms, 207 tokens a second".

use serde_json::{Value, json};
use tokenmold::generate::{Finish, Generation};

use super::compiled::Compiled;

/// A number of things, for people: `1 token`, `2 tokens`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}

/// Tells whether a text is whole: one that its constraint accepts, or that the model itself ended
/// where there is none.
pub(crate) fn is_whole(generation: &Generation, compiled: Option<&Compiled>) -> bool {
    let free = compiled.is_none();
    let full = matches!(generation.finish, Finish::Length | Finish::Context);
    generation.complete && !(free && full)
}

/// Returns its end and its cost, for people.
pub(crate) fn figures(generation: &Generation, compiled: Option<&Compiled>) -> String {
    let timings = &generation.timings;
    let forced = generation.forced.iter().filter(|&&f| f).count();
    let mut lines = vec![format!(
        "{}: {} ({forced} forced) in {:.0?}, {:.0} tokens a second; {}, prompt of {} in {:.0?}",
        ending(generation),
        count(generation.tokens.len(), "token"),
        timings.total.saturating_sub(timings.prefill),
        generation.tokens_per_second(),
        count(generation.steps, "model step"),
        count(generation.prompt_tokens, "token"),
        timings.prefill,
    )];
    if let Some(compiled) = compiled {
        let stats = compiled.constraint.stats();
        let each = timings.mask / u32::try_from(generation.masks.max(1)).unwrap_or(u32::MAX);
        let size = compiled.constraint.size();
        lines.push(format!(
            "constraint: compiled in {:.1?}, {size}; {} of {:.1?} on average, {} of {} in all",
            compiled.time,
            count(generation.masks, "mask"),
            each,
            count(stats.rows, "distinct row"),
            count(stats.row_bytes, "byte"),
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

pub(crate) fn ending(generation: &Generation) -> &'static str {
    match (generation.finish, generation.complete) {
        (Finish::Length, false) => "incomplete (max_tokens reached)",
        (Finish::Context, false) => "incomplete (the model's context is full)",
        (_, false) => "incomplete",
        (Finish::Length, true) => "max_tokens reached",
        (_, true) => "complete",
    }
}

pub(crate) fn describe(
    generation: &Generation,
    compiled: Option<&Compiled>,
    steps: Vec<Value>,
) -> Value {
    let timings = &generation.timings;
    let mut described = json!({
        "text": generation.text,
        "value": serde_json::from_str::<Value>(&generation.text).ok(),
        "complete": generation.complete,
        "finish": format!("{:?}", generation.finish),
        "prompt_tokens": generation.prompt_tokens,
        "tokens": steps,
        "forced_tokens": generation.forced.iter().filter(|&&forced| forced).count(),
        "model_steps": generation.steps,
        "tokens_per_second": generation.tokens_per_second(),
        "seconds": {
            "prefill": timings.prefill.as_secs_f64(),
            "forward": timings.forward.as_secs_f64(),
            "mask": timings.mask.as_secs_f64(),
            "advance": timings.advance.as_secs_f64(),
            "sampling": timings.sampling.as_secs_f64(),
            "total": timings.total.as_secs_f64(),
        },
    });
    if let Some(compiled) = compiled {
        let stats = compiled.constraint.stats();
        described["constraint"] = json!({
            "compile_seconds": compiled.time.as_secs_f64(),
            compiled.constraint.size().unit: compiled.constraint.size().count,
            "masks": generation.masks,
            "rows": stats.rows,
            "row_bytes": stats.row_bytes,
        });
    }
    described
}

/// Why an output is no whole one, and what to do.
pub(crate) fn shortfall(
    generation: &Generation,
    compiled: Option<&Compiled>,
    max_tokens: usize,
) -> String {
    let why = match generation.finish {
        Finish::Length => format!(
            "it came to {}; --max-tokens allows more{}",
            count(max_tokens, "token"),
            match compiled {
                Some(_) => ", --budget complete makes it end in time",
                None => "",
            }
        ),
        Finish::Context => match compiled {
            Some(_) => "the model's context is full; --budget complete makes it end in time",
            None => "the model's context is full",
        }
        .to_owned(),
        Finish::StopString(_) => "a stop string ended it".to_owned(),
        _ => "it was stopped".to_owned(),
    };
    format!("the output is incomplete: {why}")
}
