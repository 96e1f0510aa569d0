//! `/v1/decisions`: exact probabilities of answers. For example, the question `{"type": "predicate",
//! "instructions": "The customer is angry."}` about a text is answered by `{"type": "predicate",
//! "probability": 0.93}`.
//!
//! Each question becomes a prompt that ends where the model would answer, and the values that it
//! may answer with. The probabilities are those of [`Session::probabilities`], so that no text is
//! drawn. The options of a choice stand in the prompt in the order of their texts, because a model
//! prefers some places of a list to others: the answer does not depend on the order of the request.
//!
//! [`Session::probabilities`]: crate::generate::Session::probabilities

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use constraint::Description;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::answers::{Answers, queue};
use super::body;
use super::chat::text_of;
use super::error::ApiError;
use super::items::{self, check_parts, conversation, type_of};
use super::pool::{Job, Update};
use super::server::{ServerState, Shared};
use crate::tokenizer::Surround;
use fsm_index::{Distribution, ProbabilityLimits};

/// A request for decisions.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionRequest {
    /// The model's name, as `/v1/models` lists it.
    #[serde(default)]
    model: Option<String>,
    /// The text, or the messages, calls and results, that the questions are about.
    #[schema(value_type = items::DecisionInput)]
    input: Box<RawValue>,
    /// The questions. The answers come in their order.
    #[schema(value_type = Vec<Question>, min_items = 1, max_items = 400)]
    questions: Vec<Box<RawValue>>,
    /// Changes nothing here: what prompts share at their beginning is read once in any case.
    #[serde(default)]
    #[expect(dead_code, reason = "taken, and of no effect")]
    prompt_cache_options: Option<CacheOptions>,
    /// Changes nothing here.
    #[serde(default)]
    #[expect(dead_code, reason = "taken, and of no effect")]
    prompt_cache_key: Option<String>,
    /// Changes nothing here.
    #[serde(default)]
    #[expect(dead_code, reason = "taken, and of no effect")]
    safety_identifier: Option<String>,
}

/// Options of a cache that this server has not.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "taken, and of no effect")]
struct CacheOptions {
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    ttl: Option<String>,
}

/// The most questions of a request, as OpenAI's API has it.
const MAX_QUESTIONS: usize = 400;

/// The fewest and the most options of a choice, as OpenAI's API has it.
const CHOICES: std::ops::RangeInclusive<usize> = 2..=255;

/// A question, with the prompt and the values that it becomes.
struct AskedQuestion {
    name: Option<String>,
    /// The words that ask it.
    words: String,
    kind: QuestionKind,
}

enum QuestionKind {
    Predicate,
    /// The options, as values and as texts that the model writes.
    Choice(Vec<(OptionValue, String)>),
    /// The labels of the levels, the lowest first.
    Score(Vec<String>),
}

/// The answers to a predicate, in two spellings each because models begin answers with either.
const ANSWERS: [&str; 4] = ["yes", "Yes", "no", "No"];

/// A question.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only described: `AskedQuestion::read` reads it")]
enum Question {
    Predicate(PredicateQuestion),
    Choice(ChoiceQuestion),
    Score(ScoreQuestion),
}

/// A statement, which is true with some probability.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PredicateQuestion {
    #[serde(rename = "type")]
    #[expect(dead_code, reason = "it is checked")]
    kind: PredicateType,
    /// A name that the answer repeats.
    #[serde(default)]
    name: Option<String>,
    /// The statement.
    #[schema(value_type = items::PartsOrText)]
    instructions: Box<RawValue>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum PredicateType {
    Predicate,
}

/// One of several options.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ChoiceQuestion {
    #[serde(rename = "type")]
    #[expect(dead_code, reason = "it is checked")]
    kind: ChoiceType,
    /// A name that the answer repeats.
    #[serde(default)]
    name: Option<String>,
    /// The question.
    #[schema(value_type = items::PartsOrText)]
    instructions: Box<RawValue>,
    /// The options, all different.
    #[schema(min_items = 2, max_items = 255)]
    choices: Vec<ChoiceOption>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ChoiceType {
    Choice,
}

/// An option.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ChoiceOption {
    value: OptionValue,
    #[serde(default)]
    description: Option<String>,
}

/// A text with characters, or true or false.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
enum OptionValue {
    Text(String),
    Truth(bool),
}

/// One of several levels.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ScoreQuestion {
    #[serde(rename = "type")]
    #[expect(dead_code, reason = "it is checked")]
    kind: ScoreType,
    /// A name that the answer repeats.
    #[serde(default)]
    name: Option<String>,
    /// The question.
    #[schema(value_type = items::PartsOrText)]
    instructions: Box<RawValue>,
    /// The levels from the lowest to the highest, all different.
    #[schema(min_items = 2, max_items = 255)]
    levels: Vec<ScoreLevel>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ScoreType {
    Score,
}

/// A level.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ScoreLevel {
    #[schema(min_length = 1)]
    label: String,
    #[serde(default)]
    description: Option<String>,
}

/// Answers questions by probabilities.
#[utoipa::path(post, path = "/v1/decisions", request_body = DecisionRequest, responses(
    (status = 200, description = "The answers, in the order of the questions"),
    (status = 400, description = "The request is wrong", body = super::error::ErrorBody),
    (status = 429, description = "The queue is full", body = super::error::ErrorBody),
))]
pub(super) async fn decide(State(server): Shared, body: Bytes) -> Result<Json<Value>, ApiError> {
    let request: DecisionRequest = body::read_alone(&body)?;
    server.check_model(request.model.as_deref())?;
    let count = request.questions.len();
    if !(1..=MAX_QUESTIONS).contains(&count) {
        let message = format!("there are {count} questions; 1 to {MAX_QUESTIONS} are taken");
        return Err(ApiError::invalid("questions", message));
    }
    let questions: Vec<AskedQuestion> = request
        .questions
        .iter()
        .enumerate()
        .map(|(at, question)| AskedQuestion::read(question, &format!("questions[{at}]")))
        .collect::<Result<_, _>>()?;
    let about = conversation(&request.input, "input")?;
    let until = Instant::now() + server.config.timeout;
    let prepared = server
        .prepare(until, move |server| {
            let asked = questions.iter().map(|question| {
                let prompt = question.prompt(&about, server)?;
                let texts = question.texts();
                let constraint = server.constraint(&Description::Choice { texts });
                let constraint = constraint
                    .map_err(|error| ApiError::invalid("questions", error.to_string()))?;
                Ok((prompt, constraint))
            });
            let asked = asked.collect::<Result<Vec<_>, ApiError>>()?;
            Ok((questions, asked))
        })
        .await?;
    let (questions, asked) = prepared;
    let tokens: usize = asked.iter().map(|(prompt, _)| prompt.len()).sum();
    let job = Job::Decide {
        questions: asked,
        limits: ProbabilityLimits::default(),
    };
    let mut answers: Answers = queue(&server, vec![job], until).await?;
    let mut decided: Vec<Distribution> = Vec::new();
    while let Some((_, update)) = answers.next().await? {
        match update {
            Update::Decided(distribution) => decided.push(*distribution),
            Update::Done(Err(error)) => {
                let at = decided.len();
                return Err(ApiError::of_generation(&error).at(format!("questions[{at}]")));
            }
            _ => {}
        }
    }
    if decided.len() < questions.len() {
        return Err(ApiError::server("not all questions were answered"));
    }
    let answered = questions.iter().zip(&decided);
    let answered: Vec<Value> = answered
        .map(|(question, found)| question.answer(found))
        .collect();
    Ok(Json(json!({
        "answers": answered,
        "model": server.config.model_name,
        "usage": {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens,
        },
    })))
}

impl AskedQuestion {
    fn read(question: &RawValue, place: &str) -> Result<AskedQuestion, ApiError> {
        match type_of(question, place)?.as_deref() {
            Some("predicate") => {
                let read: PredicateQuestion = body::read_inside(question, place)?;
                let words = words(&read.instructions, place)?;
                Ok(AskedQuestion {
                    name: read.name,
                    words: format!("Statement: {words}\nIs the statement true? Answer yes or no."),
                    kind: QuestionKind::Predicate,
                })
            }
            Some("choice") => {
                let read: ChoiceQuestion = body::read_inside(question, place)?;
                let words = words(&read.instructions, place)?;
                let (options, listed) = options(read.choices, place)?;
                Ok(AskedQuestion {
                    name: read.name,
                    words: format!(
                        "{words}\nAnswer with one of these options and nothing else:\n{listed}"
                    ),
                    kind: QuestionKind::Choice(options),
                })
            }
            Some("score") => {
                let read: ScoreQuestion = body::read_inside(question, place)?;
                let words = words(&read.instructions, place)?;
                let (labels, listed) = levels(read.levels, place)?;
                Ok(AskedQuestion {
                    name: read.name,
                    words: format!(
                        "{words}\nAnswer with one of these levels, from the lowest to the highest, and nothing else:\n{listed}"
                    ),
                    kind: QuestionKind::Score(labels),
                })
            }
            other => {
                let other = other.unwrap_or("none");
                let message =
                    format!("the type {other:?} is none of \"predicate\", \"choice\", \"score\"");
                Err(ApiError::invalid(format!("{place}.type"), message))
            }
        }
    }

    /// The prompt's tokens.
    fn prompt(&self, about: &[Value], server: &ServerState) -> Result<Vec<u32>, ApiError> {
        let mut turns = about.to_vec();
        // The text that the questions are about comes first, so that it is read once.
        match turns.last_mut() {
            Some(last) if last["role"] == "user" => {
                let said = last["content"].as_str().unwrap_or_default();
                last["content"] = format!("{said}\n\n{}", self.words).into();
            }
            _ => turns.push(json!({"role": "user", "content": self.words})),
        }
        let (text, surround) = match server.chat.is_empty() {
            true => {
                let texts = turns.iter().filter_map(|turn| turn["content"].as_str());
                let text = texts.collect::<Vec<_>>().join("\n\n");
                (format!("{text}\nAnswer: "), Surround::Add)
            }
            false => {
                let written = server.chat.prompt(None, &[], &turns);
                (
                    written.map_err(|error| ApiError::of_generation(&error))?,
                    Surround::Omit,
                )
            }
        };
        let tokens = server.tokenizer.encode(&text, surround);
        tokens.map_err(|error| ApiError::invalid("input", error.to_string()))
    }

    /// The texts that the model may answer with.
    fn texts(&self) -> Vec<String> {
        match &self.kind {
            QuestionKind::Predicate => ANSWERS.map(str::to_owned).to_vec(),
            QuestionKind::Choice(options) => options.iter().map(|(_, text)| text.clone()).collect(),
            QuestionKind::Score(labels) => labels.clone(),
        }
    }

    fn answer(&self, found: &Distribution) -> Value {
        let of = |text: &str| {
            let value = found.values.iter().find(|value| value.text == text);
            value.map_or(0.0, |value| value.probability)
        };
        let name = &self.name;
        match &self.kind {
            QuestionKind::Predicate => {
                let probability = of(ANSWERS[0]) + of(ANSWERS[1]);
                json!({"type": "predicate", "name": name, "probability": probability})
            }
            QuestionKind::Choice(options) => {
                let likelier = |a: &&(OptionValue, String), b: &&(OptionValue, String)| {
                    let order = of(&a.1).total_cmp(&of(&b.1));
                    order.then_with(|| b.1.cmp(&a.1))
                };
                let best = options.iter().max_by(likelier);
                let listed = options
                    .iter()
                    .map(|(value, text)| json!({"value": value, "probability": of(text)}));
                json!({
                    "type": "choice",
                    "name": name,
                    "choice": best.map(|(value, _)| value),
                    "confidence": best.map(|(_, text)| of(text)),
                    "probabilities": listed.collect::<Vec<_>>(),
                })
            }
            QuestionKind::Score(labels) => {
                let score: f64 = (0u32..)
                    .zip(labels)
                    .map(|(at, label)| f64::from(at) * of(label))
                    .sum();
                let confidence = labels.iter().map(|label| of(label)).fold(0.0, f64::max);
                let listed = labels.iter().enumerate().map(
                    |(at, label)| json!({"label": label, "value": at, "probability": of(label)}),
                );
                json!({
                    "type": "score",
                    "name": name,
                    "score": score,
                    "confidence": confidence,
                    "probabilities": listed.collect::<Vec<_>>(),
                })
            }
        }
    }
}

/// The words of a question that stands at `place`.
fn words(instructions: &RawValue, place: &str) -> Result<String, ApiError> {
    let place = format!("{place}.instructions");
    check_parts(instructions, &place)?;
    let read: Value = serde_json::from_str(instructions.get())
        .map_err(|error| ApiError::invalid(&place, error.to_string()))?;
    text_of(read, &place)
}

/// The labels of a score's levels, and the list of them in a prompt.
fn levels(levels: Vec<ScoreLevel>, place: &str) -> Result<(Vec<String>, String), ApiError> {
    let wrong = |message: String| ApiError::invalid(format!("{place}.levels"), message);
    if !CHOICES.contains(&levels.len()) {
        let count = levels.len();
        return Err(wrong(format!(
            "there are {count} levels; 2 to 255 are taken"
        )));
    }
    let mut labels: Vec<String> = Vec::new();
    let mut listed = String::new();
    for level in levels {
        if level.label.is_empty() || labels.contains(&level.label) {
            return Err(wrong("each level has a label of its own".to_owned()));
        }
        listed.push_str(&line(&level.label, level.description.as_deref()));
        labels.push(level.label);
    }
    Ok((labels, listed))
}

/// A line of a list in a prompt.
fn line(text: &str, description: Option<&str>) -> String {
    match description {
        Some(description) if !description.is_empty() => format!("- {text}: {description}\n"),
        _ => format!("- {text}\n"),
    }
}

/// The options of a choice with the texts that stand for them, and the list of them in a prompt.
fn options(
    choices: Vec<ChoiceOption>,
    place: &str,
) -> Result<(Vec<(OptionValue, String)>, String), ApiError> {
    let wrong = |message: String| ApiError::invalid(format!("{place}.choices"), message);
    if !CHOICES.contains(&choices.len()) {
        let count = choices.len();
        return Err(wrong(format!("there are {count}; 2 to 255 are taken")));
    }
    let plain = |value: &OptionValue| match value {
        OptionValue::Text(text) if text.is_empty() => Err(wrong(
            "a value is a text with characters, or true or false".to_owned(),
        )),
        OptionValue::Text(text) => Ok(text.clone()),
        OptionValue::Truth(value) => Ok(value.to_string()),
    };
    let mut texts = choices
        .iter()
        .map(|choice| plain(&choice.value))
        .collect::<Result<Vec<_>, _>>()?;
    let mut sorted = texts.clone();
    sorted.sort();
    sorted.dedup();
    if sorted.len() < texts.len() {
        // The text "true" and the value true are told apart as JSON.
        texts = choices
            .iter()
            .map(|choice| json!(choice.value).to_string())
            .collect();
        let mut sorted = texts.clone();
        sorted.sort();
        sorted.dedup();
        if sorted.len() < texts.len() {
            return Err(wrong("two of them are the same".to_owned()));
        }
    }
    let mut lines: Vec<String> = choices
        .iter()
        .zip(&texts)
        .map(|(choice, text)| line(text, choice.description.as_deref()))
        .collect();
    lines.sort();
    let values = choices.into_iter().map(|choice| choice.value).zip(texts);
    Ok((values.collect(), lines.concat()))
}
