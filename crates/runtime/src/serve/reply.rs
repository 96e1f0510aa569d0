//! An answer that is read while it arrives. For example, the tokens of
//! `<tool_call>{"name": "weather", "arguments": {"city": "Ulm"}}</tool_call>` give a call of
//! `weather` whose arguments come in pieces.

use std::collections::HashSet;
use std::sync::Arc;

use response_parser::{End, Event, Piece, ResponseTemplate, TemplateStream, Turn};
use serde_json::Value;

use super::pool::Token;
use super::tool::INPUT;
use crate::generate::{Finish, Generation};
use crate::tokenizer::Tokenizer;

/// The way in which an answer is read.
pub(super) enum AnswerForm {
    /// It is content, which a rule binds or not.
    Plain(ContentRule),
    /// It is the input of this tool.
    Input(String),
    /// As the model's family writes.
    Spoken(Box<FamilyForm>),
}

/// The rule for the content of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentRule {
    /// It is free, and can end anywhere.
    None,
    /// It is bound: where it may end, it is whole.
    Bound,
    /// There is none but line feeds before calls, which are not told.
    Absent,
}

/// The way in which a family writes answers to one prompt.
pub(super) struct FamilyForm {
    pub(super) template: ResponseTemplate,
    pub(super) prompt: String,
    /// The tools that may be called.
    pub(super) offered: Value,
    /// The names of the tokens that are structure.
    pub(super) specials: Arc<[String]>,
    /// The rule for content without calls.
    pub(super) rule: ContentRule,
    /// The tools whose input is a text.
    pub(super) custom: HashSet<String>,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Delta {
    Content(String),
    Reasoning(String),
    /// A call begins.
    Call {
        /// Its number in the answer.
        call: usize,
        name: String,
        /// True if its input is a text.
        custom: bool,
    },
    /// A piece of a call's arguments, or of its input.
    Arguments {
        call: usize,
        text: String,
        /// True if it is a text.
        custom: bool,
    },
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) custom: bool,
    /// The text of its arguments, or its input.
    pub(super) text: String,
}

/// An answer as a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) content: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<Call>,
}

impl AnswerForm {
    /// The tools that may be called.
    pub(super) fn offered(&self) -> Option<&Value> {
        match self {
            AnswerForm::Spoken(spoken) => Some(&spoken.offered),
            _ => None,
        }
    }
}

impl Message {
    /// Adds a part.
    pub(super) fn add(&mut self, delta: Delta) {
        match delta {
            Delta::Content(text) => self.content.push_str(&text),
            Delta::Reasoning(text) => self.reasoning.push_str(&text),
            Delta::Call { name, custom, .. } => self.calls.push(Call {
                name,
                custom,
                text: String::new(),
            }),
            Delta::Arguments { call, text, .. } => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.text.push_str(&text);
                }
            }
        }
    }
}

/// The way in which an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It is whole.
    Whole,
    /// It was cut off.
    Cut,
}

/// Reads one answer.
pub(super) struct AnswerReader {
    reading: Arc<AnswerForm>,
    tokenizer: Arc<Tokenizer>,
    /// None if the answer is content, also after an error of reading.
    stream: Option<TemplateStream>,
    /// The calls that have begun: the field and the number that the stream gives each.
    begun: Vec<(Arc<str>, usize)>,
    /// The arguments of calls whose input is a text, as far as they have come.
    held: Vec<(usize, String)>,
}

impl AnswerReader {
    pub(super) fn new(reading: &Arc<AnswerForm>, tokenizer: &Arc<Tokenizer>) -> AnswerReader {
        let stream = match &**reading {
            AnswerForm::Spoken(spoken) => spoken.stream(),
            _ => None,
        };
        AnswerReader {
            reading: reading.clone(),
            tokenizer: tokenizer.clone(),
            stream,
            begun: Vec::new(),
            held: Vec::new(),
        }
    }

    /// Takes a token.
    pub(super) fn token(&mut self, token: &Token) -> Vec<Delta> {
        match (&self.stream, self.tokenizer.is_text(token.token)) {
            (Some(_), false) => {
                let name = self.tokenizer.describe(token.token);
                self.text(&name, Piece::Special)
            }
            _ => self.text(&token.text, Piece::Text),
        }
    }

    /// Takes text.
    pub(super) fn text(&mut self, text: &str, piece: Piece) -> Vec<Delta> {
        if text.is_empty() {
            return Vec::new();
        }
        if let Some(stream) = &mut self.stream {
            let mut events = Vec::new();
            let read = stream.feed_pieces(&[(text, piece)], &mut events);
            if read.is_err() {
                // The rest is shown as it is.
                self.stream = None;
            }
            return self.deltas(events);
        }
        match &*self.reading {
            AnswerForm::Input(tool) => {
                let mut deltas = Vec::new();
                if self.begun.is_empty() {
                    self.begun.push(("".into(), 0));
                    deltas.push(Delta::Call {
                        call: 0,
                        name: tool.clone(),
                        custom: true,
                    });
                }
                let text = text.to_owned();
                deltas.push(Delta::Arguments {
                    call: 0,
                    text,
                    custom: true,
                });
                deltas
            }
            _ => vec![Delta::Content(text.to_owned())],
        }
    }

    /// Takes the end.
    pub(super) fn finish(&mut self, generation: &Generation) -> Vec<Delta> {
        let mut deltas = match self.stream.take() {
            None => Vec::new(),
            Some(stream) => {
                let end = match self.ending(generation) {
                    Ending::Cut => End::Length,
                    Ending::Whole => End::Stop,
                };
                match stream.finish_by(end) {
                    Ok(finished) => self.deltas(finished.events),
                    Err(_) => Vec::new(),
                }
            }
        };
        for (call, text) in std::mem::take(&mut self.held) {
            let read: Option<Value> = serde_json::from_str(&text).ok();
            let input = read.as_ref().and_then(|read| read[INPUT].as_str());
            let text = input.map_or(text.clone(), str::to_owned);
            deltas.push(Delta::Arguments {
                call,
                text,
                custom: true,
            });
        }
        deltas
    }

    /// Returns the way in which an answer ended. It was cut off if it came to its most tokens and is
    /// not a whole one that its constraint landed within them. Free text is never whole there.
    pub(super) fn ending(&self, generation: &Generation) -> Ending {
        let bound = self.rule() != ContentRule::None || !self.begun.is_empty();
        match generation.finish {
            Finish::Length | Finish::Context if bound && generation.complete => Ending::Whole,
            Finish::Length | Finish::Context | Finish::Stopped => Ending::Cut,
            _ => Ending::Whole,
        }
    }

    fn rule(&self) -> ContentRule {
        match &*self.reading {
            AnswerForm::Plain(rule) => *rule,
            AnswerForm::Input(_) => ContentRule::Bound,
            AnswerForm::Spoken(spoken) => spoken.rule,
        }
    }

    fn deltas(&mut self, events: Vec<Event>) -> Vec<Delta> {
        let mut deltas = Vec::new();
        for event in events {
            match event {
                Event::RegionChunk {
                    field,
                    text,
                    dirty: false,
                } => match &*field {
                    "content" if self.rule() == ContentRule::Absent => {}
                    "content" => deltas.push(Delta::Content(text)),
                    "reasoning_content" | "thinking" => deltas.push(Delta::Reasoning(text)),
                    _ => {}
                },
                Event::Arguments {
                    field,
                    call,
                    name,
                    text,
                } => {
                    let known = self
                        .begun
                        .iter()
                        .position(|known| *known == (field.clone(), call));
                    let AnswerForm::Spoken(spoken) = &*self.reading else {
                        continue;
                    };
                    let custom = spoken.custom.contains(&name);
                    let call = known.unwrap_or_else(|| {
                        self.begun.push((field, call));
                        let call = self.begun.len() - 1;
                        deltas.push(Delta::Call { call, name, custom });
                        call
                    });
                    match custom {
                        false => deltas.push(Delta::Arguments { call, text, custom }),
                        true => match self.held.iter_mut().find(|(held, _)| *held == call) {
                            Some((_, held)) => held.push_str(&text),
                            None => self.held.push((call, text)),
                        },
                    }
                }
                _ => {}
            }
        }
        deltas
    }
}

impl FamilyForm {
    /// A stream of the answer; none if the prompt cannot be read, in which case the answer is content.
    fn stream(&self) -> Option<TemplateStream> {
        let begun = self.template.behind_anchor(&self.prompt).ok()?;
        let specials: Vec<&str> = self.specials.iter().map(String::as_str).collect();
        let turn = Turn::after(begun.unwrap_or_default())
            .with_tools(&self.offered)
            .with_special_tokens(&specials);
        self.template.stream(&turn).ok()
    }
}
