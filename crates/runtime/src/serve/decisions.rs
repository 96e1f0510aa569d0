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
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::answers::{Answers, queue};
use super::chat::{messages, text_of};
use super::error::ApiError;
use super::pool::{Job, Update};
use super::responses::read_items;
use super::server::{ServerState, Shared};
use super::wire;
use crate::tokenizer::Surround;
use fsm_index::{Distribution, ProbabilityLimits};

/// A request for decisions.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct DecisionRequest {
    /// The model's name, as `/v1/models` lists it.
    #[serde(default)]
    model: Option<String>,
    /// The text, or the messages, calls and results, that the questions are about.
    #[schema(value_type = Object)]
    input: Value,
    /// 1 to 400 questions: predicates, choices and scores.
    #[schema(value_type = Vec<Object>)]
    questions: Vec<Value>,
    /// Changes nothing here: what prompts share at their beginning is read once in any case.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    #[expect(dead_code, reason = "taken, and of no effect")]
    prompt_cache_options: Option<Value>,
}

/// The most questions of a request, as OpenAI's API has it.
const MAX_QUESTIONS: usize = 400;

/// The fewest and the most options of a choice, as OpenAI's API has it.
const CHOICES: std::ops::RangeInclusive<usize> = 2..=255;

/// A question, read.
struct Question {
    name: Option<String>,
    /// The words that ask it.
    words: String,
    kind: QuestionKind,
}

enum QuestionKind {
    Predicate,
    /// The options, as values and as texts that the model writes.
    Choice(Vec<(Value, String)>),
    /// The labels of the levels, the lowest first.
    Score(Vec<String>),
}

/// The answers to a predicate, in two spellings each because models begin answers with either.
const ANSWERS: [&str; 4] = ["yes", "Yes", "no", "No"];

#[derive(Deserialize)]
struct QuestionBody {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    name: Option<String>,
    instructions: Value,
    #[serde(default)]
    choices: Vec<ChoiceOption>,
    #[serde(default)]
    levels: Vec<ScoreLevel>,
}

#[derive(Deserialize)]
struct ChoiceOption {
    value: Value,
    #[serde(default)]
    description: Option<String>,
}

#[derive(Deserialize)]
struct ScoreLevel {
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
    let request: DecisionRequest = wire::read_alone(&body)?;
    server.check_model(request.model.as_deref())?;
    let count = request.questions.len();
    if !(1..=MAX_QUESTIONS).contains(&count) {
        let message = format!("there are {count} questions; 1 to {MAX_QUESTIONS} are taken");
        return Err(ApiError::invalid("questions", message));
    }
    let questions: Vec<Question> = request
        .questions
        .into_iter()
        .enumerate()
        .map(|(at, question)| Question::read(question, &format!("questions[{at}]")))
        .collect::<Result<_, _>>()?;
    let about = match request.input {
        Value::String(text) => vec![json!({"role": "user", "content": text})],
        input => messages(read_items(input, "input")?)?,
    };
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

impl Question {
    fn read(question: Value, place: &str) -> Result<Question, ApiError> {
        let written: QuestionBody = serde_json::from_value(question)
            .map_err(|error| ApiError::invalid(place, error.to_string()))?;
        let mut words = text_of(written.instructions, &format!("{place}.instructions"))?;
        let kind = match written.kind.as_str() {
            "predicate" => {
                words = format!("Statement: {words}\nIs the statement true? Answer yes or no.");
                QuestionKind::Predicate
            }
            "choice" => {
                let (options, listed) = options(written.choices, place)?;
                words = format!(
                    "{words}\nAnswer with one of these options and nothing else:\n{listed}"
                );
                QuestionKind::Choice(options)
            }
            "score" => {
                let levels = written.levels;
                if levels.len() < 2 || levels.len() > *CHOICES.end() {
                    let message = format!("there are {} levels; 2 to 255 are taken", levels.len());
                    return Err(ApiError::invalid(format!("{place}.levels"), message));
                }
                let mut labels: Vec<String> = Vec::new();
                let mut listed = String::new();
                for level in levels {
                    if level.label.is_empty() || labels.contains(&level.label) {
                        let message = "each level has a label of its own";
                        return Err(ApiError::invalid(format!("{place}.levels"), message));
                    }
                    listed.push_str(&line(&level.label, level.description.as_deref()));
                    labels.push(level.label);
                }
                words = format!(
                    "{words}\nAnswer with one of these levels, from the lowest to the highest, and nothing else:\n{listed}"
                );
                QuestionKind::Score(labels)
            }
            other => {
                let message =
                    format!("the type {other:?} is none of \"predicate\", \"choice\", \"score\"");
                return Err(ApiError::invalid(format!("{place}.type"), message));
            }
        };
        Ok(Question {
            name: written.name,
            words,
            kind,
        })
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
                let likelier = |a: &&(Value, String), b: &&(Value, String)| {
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
) -> Result<(Vec<(Value, String)>, String), ApiError> {
    let wrong = |message: String| ApiError::invalid(format!("{place}.choices"), message);
    if !CHOICES.contains(&choices.len()) {
        let count = choices.len();
        return Err(wrong(format!("there are {count}; 2 to 255 are taken")));
    }
    let plain = |value: &Value| match value {
        Value::String(text) if !text.is_empty() => Ok(text.clone()),
        Value::Bool(value) => Ok(value.to_string()),
        _ => Err(wrong(
            "a value is a text with characters, or true or false".to_owned(),
        )),
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
            .map(|choice| choice.value.to_string())
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
