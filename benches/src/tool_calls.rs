//! Recorded outputs of models with tools: what the parser makes of them, whole and in pieces.
//!
//! A case is what a model wrote, the tools that were offered, and the right message. It is right if
//! the whole text gives that message and every way of cutting it into pieces gives the same, chunk by chunk.
//! For example, a call that was cut off is no call, and the text before it stays what it was.

use std::collections::BTreeMap;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use response_parser::{Event, Family, ResponseTemplate, Turn};
use serde_json::{Map, Value, json};

/// The seed of the random cuts: any will do, because it only has to be the same in each run.
const SEED: u64 = 7;

/// The number of ways in which each text is cut at random: enough to meet most markers in their
/// middle, because a text has a handful of them.
const RANDOM_CUTS: usize = 8;

/// The degree to which an answer is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it was expected.
    Right,
    /// Right but for blanks around content and reasoning.
    Blanks,
    /// Neither.
    Wrong,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Verdict::Right => "right",
            Verdict::Blanks => "right but for blanks",
            Verdict::Wrong => "wrong",
        })
    }
}

/// The number of a family's cases that are right, right but for blanks, and wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Right ones.
    pub right: usize,
    /// Right but for blanks.
    pub blanks: usize,
    /// Wrong ones.
    pub wrong: usize,
}

impl Counts {
    fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Right => self.right += 1,
            Verdict::Blanks => self.blanks += 1,
            Verdict::Wrong => self.wrong += 1,
        }
    }
}

/// A case that is not right.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The case.
    pub id: String,
    /// The check that failed: `whole`, `stream` or one of what every message must keep to.
    pub check: &'static str,
    /// The degree to which it is right all the same.
    pub verdict: Verdict,
    /// The answer that was expected.
    pub expected: String,
    /// The answer that came.
    pub got: String,
}

/// Models by a part of their names, the family that reads them, and the text that opens their
/// reasoning in a prompt, because most cases do not give their prompt.
const FAMILIES: [(&str, &str, &str); 21] = [
    ("DeepSeek-V3-0324", "deepseek-v3", ""),
    ("DeepSeek-R1", "deepseek-v3", "<｜Assistant｜><think>\n"),
    ("DeepSeek-V3.1", "deepseek-v3.1", "<｜Assistant｜><think>"),
    ("DeepSeek-V3.2", "deepseek-v3.2", "<｜Assistant｜><think>"),
    ("DeepSeek-V4.1", "deepseek-v4.1", "<｜Assistant｜><think>"),
    ("DeepSeek-V4", "deepseek-v4", "<｜Assistant｜><think>"),
    ("gemma-4", "gemma4", ""),
    ("GLM-4.5", "glm4", ""),
    ("GLM-4.6", "glm4", ""),
    ("GLM-", "glm4", "<|assistant|><think>"),
    ("gpt-oss", "harmony", ""),
    (
        "Kimi-K2",
        "kimi-k2",
        "<|im_assistant|>assistant<|im_middle|><think>",
    ),
    (
        "Kimi-K3",
        "kimi-k3",
        "<|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>",
    ),
    ("Llama-4", "llama4", ""),
    ("Llama-", "llama3", ""),
    ("Mistral-7B", "mistral", ""),
    ("Mistral-Nemo", "mistral", ""),
    ("istral", "mistral-v11", ""),
    ("Qwen3-Coder", "qwen3-coder", ""),
    ("Qwen3.", "qwen3-coder", "<|im_start|>assistant\n<think>\n"),
    ("Qwen", "hermes", "<|im_start|>assistant\n<think>\n"),
];

/// The parts by which a message and its chunks are compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    content: String,
    reasoning: String,
    pub(crate) calls: Vec<Value>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        json!({"content": self.content, "reasoning_content": self.reasoning, "tool_calls": self.calls})
    }

    pub(crate) fn of_message(message: &Value) -> Answer {
        let text = |names: &[&str]| {
            let text = names.iter().find_map(|name| message[*name].as_str());
            text.unwrap_or_default().to_owned()
        };
        Answer {
            content: text(&["content"]),
            reasoning: text(&REASONING),
            calls: calls(&message["tool_calls"]),
        }
    }

    fn trimmed(&self) -> Answer {
        Answer {
            content: self.content.split_whitespace().collect(),
            reasoning: self.reasoning.split_whitespace().collect(),
            calls: self.calls.clone(),
        }
    }

    pub(crate) fn verdict(&self, expected: &Answer) -> Verdict {
        if same(&self.json(), &expected.json()) {
            Verdict::Right
        } else if same(&self.trimmed().json(), &expected.trimmed().json()) {
            Verdict::Blanks
        } else {
            Verdict::Wrong
        }
    }
}

/// The fields of reasoning: two, because families name it differently.
const REASONING: [&str; 2] = ["reasoning_content", "thinking"];

/// Calls as the cases write them: name and arguments.
fn calls(calls: &Value) -> Vec<Value> {
    let call = |call: &Value| {
        let function = &call["function"];
        json!({"name": function["name"], "arguments": function["arguments"]})
    };
    calls.as_array().into_iter().flatten().map(call).collect()
}

/// Tells whether two values are the same, numbers by what they are worth: 3 is 3.0, and no text.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let inner = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| same(a, b));
            a.len() == b.len() && a.iter().all(inner)
        }
        _ => a == b,
    }
}

/// Runs recorded outputs, each whole and in pieces; each that is not right is handed to `differs`.
///
/// # Errors
///
/// The file cannot be read, or a line is no case.
pub fn run(
    file: &Path,
    differs: &mut dyn FnMut(Difference),
) -> Result<BTreeMap<String, Counts>, String> {
    let mut families: BTreeMap<String, Counts> = BTreeMap::new();
    for record in crate::golden::read(file)? {
        let family = record["family"].as_str().unwrap_or_default().to_owned();
        let difference = case(&record);
        let verdict = difference.as_ref().map_or(Verdict::Right, |d| d.verdict);
        families.entry(family).or_default().count(verdict);
        if let Some(difference) = difference {
            differs(difference);
        }
    }
    Ok(families)
}

/// The family that reads what the models of a case write, and what opens their reasoning in a prompt.
fn told(record: &Value) -> Option<(Family, &'static str)> {
    let models = record["models"].as_array().into_iter().flatten();
    let mut names = models.filter_map(Value::as_str);
    let (_, family, opening) =
        names.find_map(|model| FAMILIES.iter().find(|(part, ..)| model.contains(part)))?;
    Some((Family::by_name(family)?, opening))
}

/// The family that reads what the models of a case write.
#[must_use]
pub fn family_of(record: &Value) -> Option<Family> {
    told(record).map(|(family, _)| family)
}

/// The family's template, and the prompt's end.
fn setting(record: &Value) -> Result<(ResponseTemplate, String), String> {
    let (family, opening) = told(record).ok_or("no family of ours writes like these models")?;
    let template = ResponseTemplate::of_family(family).map_err(|e| e.to_string())?;
    let prompt = match record["generation_prompt"].as_str() {
        Some(prompt) => prompt,
        None if record["thinking"] == json!(true) => opening,
        None => "",
    };
    Ok((template, prompt.to_owned()))
}

fn case(record: &Value) -> Option<Difference> {
    let text = record["raw_output"].as_str().unwrap_or_default();
    let differs = |check, verdict, expected: String, got: String| {
        Some(Difference {
            id: record["id"].as_str().unwrap_or("(no id)").to_owned(),
            check,
            verdict,
            expected,
            got,
        })
    };
    let expected = expected(record);
    let (template, prompt) = match setting(record) {
        Ok(setting) => setting,
        Err(error) => return differs("whole", Verdict::Wrong, expected.shown(), error),
    };
    let turn = Turn::after(&prompt).with_tools(&record["tools"]);
    let whole = match template.parse_turn(&turn, text) {
        Ok(message) => Answer::of_message(&message),
        Err(error) => {
            let got = error.to_string();
            return match expected.accepts("exception") {
                true => None,
                false => differs("whole", Verdict::Wrong, expected.shown(), got),
            };
        }
    };
    let verdict = expected.verdict(&whole, text);
    if verdict != Verdict::Right {
        return differs("whole", verdict, expected.shown(), whole.json().to_string());
    }
    if let Some(wrong) = unlawful(&whole, &record["tools"]) {
        return differs("lawful", Verdict::Wrong, wrong, whole.json().to_string());
    }
    for pieces in cuts(text) {
        let got = stream(&template, &turn, &pieces);
        if got.as_ref() != Ok(&whole) {
            let got = got.map_or_else(|e| e, |got| got.json().to_string());
            let got = format!("{got} of {} pieces", pieces.len());
            return differs("stream", Verdict::Wrong, whole.json().to_string(), got);
        }
    }
    None
}

/// The answer or error that a case wants.
enum Expected {
    Answer(Answer),
    /// For outputs that were cut or malformed: what will do.
    Error(Vec<String>),
}

fn expected(record: &Value) -> Expected {
    match record["expected_error"]["accept"].as_array() {
        Some(accept) => {
            let accept = accept.iter().filter_map(Value::as_str);
            Expected::Error(accept.map(str::to_owned).collect())
        }
        None => {
            let expected = &record["expected"];
            let text = |name: &str| expected[name].as_str().unwrap_or_default().to_owned();
            let calls = expected["tool_calls"].as_array().cloned();
            Expected::Answer(Answer {
                content: text("content"),
                reasoning: text("reasoning_content"),
                calls: calls.unwrap_or_default(),
            })
        }
    }
}

impl Expected {
    fn shown(&self) -> String {
        match self {
            Expected::Answer(answer) => answer.json().to_string(),
            Expected::Error(accept) => accept.join(" or "),
        }
    }

    fn accepts(&self, what: &str) -> bool {
        matches!(self, Expected::Error(accept) if accept.iter().any(|known| known == what))
    }

    fn verdict(&self, got: &Answer, text: &str) -> Verdict {
        match self {
            Expected::Answer(expected) => got.verdict(expected),
            Expected::Error(_) if !got.calls.is_empty() => Verdict::Wrong,
            // Without `content_passthrough` the text of the call may not become content.
            Expected::Error(_)
                if self.accepts("content_passthrough") || got.content.len() < text.len() / 2 =>
            {
                Verdict::Right
            }
            Expected::Error(_) => Verdict::Wrong,
        }
    }
}

/// Returns the rule that a message breaks, whatever the case: names are offered ones, arguments are
/// objects.
fn unlawful(answer: &Answer, tools: &Value) -> Option<String> {
    let tools: Vec<&str> = tools
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["function"]["name"].as_str())
        .collect();
    answer.calls.iter().find_map(|call| {
        let name = call["name"].as_str().unwrap_or_default();
        if !tools.is_empty() && !tools.contains(&name) {
            return Some(format!("no tool {name} is offered"));
        }
        (!call["arguments"].is_object()).then(|| format!("the arguments of {name} are no object"))
    })
}

/// Ways of cutting a text: at once, by characters, by words and marks, and at random.
pub(crate) fn cuts(text: &str) -> Vec<Vec<&str>> {
    let mut all = vec![vec![text], cut(text, |_| 1), words(text)];
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    for i in 0..RANDOM_CUTS {
        let most = 2 << (i % 5);
        all.push(cut(text, |_| random.random_range(1..=most)));
    }
    all
}

/// Pieces of as many characters as `length` says.
fn cut(text: &str, mut length: impl FnMut(usize) -> usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let wanted = length(pieces.len());
        let at = rest
            .char_indices()
            .nth(wanted)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(at);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Pieces as tokens are: words with the blank before them, marks between `<` and `>` or brackets.
fn words(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mark = match first {
            '<' => rest
                .find('>')
                .filter(|&end| end < 40 && !rest[..end].contains('\n')),
            '[' => rest.find(']').filter(|&end| {
                end > 1
                    && rest[1..end]
                        .chars()
                        .all(|c| c.is_ascii_uppercase() || c == '_')
            }),
            _ => None,
        };
        let end = match mark {
            Some(end) => end + 1,
            None => {
                let skip = first.len_utf8();
                let more = rest[skip..].find(|c: char| !c.is_alphanumeric());
                more.map_or(rest.len(), |more| skip + more)
            }
        };
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Returns the answer as a client sees it who adds the chunks up and takes calls as they close.
pub(crate) fn stream(
    template: &ResponseTemplate,
    turn: &Turn<'_>,
    pieces: &[&str],
) -> Result<Answer, String> {
    let mut stream = template.stream(turn).map_err(|e| e.to_string())?;
    let mut events = Vec::new();
    for piece in pieces {
        let fed = stream.feed_into(piece, &mut events);
        fed.map_err(|e| e.to_string())?;
    }
    let finished = stream.finish().map_err(|e| e.to_string())?;
    events.extend(finished.events);
    let mut texts: Map<String, Value> = Map::new();
    let mut closed = Vec::new();
    for event in &events {
        match event {
            Event::RegionChunk {
                text, dirty: false, ..
            } => {
                let known = texts.entry(event.field()).or_insert_with(|| "".into());
                *known = format!("{}{text}", known.as_str().unwrap_or_default()).into();
            }
            Event::RegionClose { value, .. } if event.field() == "tool_calls" => match value {
                Value::Array(items) => closed.extend(items.iter().cloned()),
                call => closed.push(call.clone()),
            },
            _ => {}
        }
    }
    texts.insert("tool_calls".to_owned(), closed.into());
    let seen = Answer::of_message(&Value::Object(texts));
    let message = Answer::of_message(&finished.message);
    match seen == message {
        true => Ok(message),
        false => Err(format!(
            "chunks say {}, the message {}",
            seen.json(),
            message.json()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_outputs_are_read() {
        let Some(folder) = std::env::var_os("TOKENMOLD_DATA") else {
            eprintln!("TOKENMOLD_DATA is not set: recorded outputs are skipped");
            return;
        };
        let file = Path::new(&folder).join("goldens/tool-calls-dev.jsonl");
        let mut wrong = Vec::new();
        let families = run(&file, &mut |difference| wrong.push(difference.id)).unwrap();
        assert!(families.len() >= 9, "{families:?}");
        assert!(wrong.is_empty(), "{}", wrong.join(", "));
    }

    #[test]
    fn a_text_is_its_pieces() {
        let text = "<tool_call>{\"a\": \"é 🌸\"}</tool_call>[TOOL_CALLS]f[ARGS]{}";
        for pieces in cuts(text) {
            assert_eq!(pieces.concat(), text);
        }
        assert!(words(text).contains(&"[TOOL_CALLS]"));
    }
}
