//! The work around a template: which one is taken, which variables it is given, and how a last
//! message is left open. For example, a chat with tools takes the template `tool_use` of a model
//! that has one, and gets the variable `tools`.

use std::ops::Range;

use json_tree::depth;
use python_compat::text::is_space;
use serde_json::{Map, Value as Json};

use crate::control::ControlTokens;
use crate::python::exact::Numbers;
use crate::python::from_json::{Misplaced, from_json};
use crate::python::time::Moment;
use crate::python::value::{self, Value};
use crate::template::ChatTemplate;
use crate::{Error, ErrorKind};

/// A conversation, and how it is to be written out.
///
/// Messages are maps with a `role`, and whatever else the template reads.
///
/// ```
/// use chat_template::{Chat, ChatTemplates};
/// use serde_json::json;
///
/// let templates = ChatTemplates::from_source("{{ messages[0].content }} {{ tools[0].name }} {{ mode }}");
/// let messages = [json!({"role": "user", "content": "Hi"})];
/// let tools = [json!({"name": "f"})];
/// let chat = Chat::new(&messages).with_tools(&tools).with_variable("mode", "short");
/// assert_eq!(templates.apply(&chat)?.text, "Hi f short");
/// # Ok::<(), chat_template::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chat<'a> {
    messages: &'a [Json],
    tools: Option<&'a [Json]>,
    documents: Option<&'a [Json]>,
    template: Option<&'a str>,
    ending: Ending<'a>,
    variables: Map<String, Json>,
    now: Option<Moment>,
    numbers: Numbers,
    control_tokens: Option<&'a ControlTokens>,
}

/// The end of the text.
///
/// ```
/// use chat_template::{Chat, ChatTemplates, Ending};
/// use serde_json::json;
///
/// let templates = ChatTemplates::from_source(
///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
///      {% if add_generation_prompt %}<assistant>{% endif %}",
/// );
/// let messages = [json!({"role": "user", "content": "Hi"})];
/// let text = |ending| Ok::<_, chat_template::Error>(templates.apply(&Chat::new(&messages).with_ending(ending))?.text);
/// assert_eq!(text(Ending::GenerationPrompt)?, "<user>Hi</><assistant>");
/// assert_eq!(text(Ending::Continue("content"))?, "<user>Hi");
/// # Ok::<(), chat_template::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ending<'a> {
    /// With the end of the last message.
    #[default]
    Closed,
    /// With the opening of an answer of the model, as far as the template
    /// looks at `add_generation_prompt`.
    GenerationPrompt,
    /// Inside the last message, so that the model continues it: right behind
    /// the value of that key, `content` most often.
    Continue(&'a str),
}

impl<'a> Chat<'a> {
    /// A conversation without tools and documents, closed.
    pub fn new(messages: &'a [Json]) -> Self {
        Self {
            messages,
            tools: None,
            documents: None,
            template: None,
            ending: Ending::Closed,
            variables: Map::new(),
            now: None,
            numbers: Numbers::Json,
            control_tokens: None,
        }
    }

    /// The same with tools: maps, passed to the template as they are.
    pub fn with_tools(mut self, tools: &'a [Json]) -> Self {
        self.tools = Some(tools);
        self
    }

    /// The same with documents: maps, `title` and `text` by convention.
    ///
    /// ```
    /// use chat_template::{Chat, ChatTemplate};
    /// use serde_json::json;
    ///
    /// let template = ChatTemplate::new("{% for d in documents %}{{ d.title }}: {{ d.text }}{% endfor %}")?;
    /// let messages = [json!({"role": "user", "content": "?"})];
    /// let documents = [json!({"title": "Ulm", "text": "A city."})];
    /// let chat = Chat::new(&messages).with_documents(&documents);
    /// assert_eq!(template.render(&chat)?.text, "Ulm: A city.");
    /// # Ok::<(), chat_template::Error>(())
    /// ```
    pub fn with_documents(mut self, documents: &'a [Json]) -> Self {
        self.documents = Some(documents);
        self
    }

    /// The same with another template: the name of one of several, or, where
    /// there is no such name, the text of a template.
    pub fn with_template(mut self, template: &'a str) -> Self {
        self.template = Some(template);
        self
    }

    /// The same with another ending.
    pub fn with_ending(mut self, ending: Ending<'a>) -> Self {
        self.ending = ending;
        self
    }

    /// The same with another variable of the template, such as
    /// `enable_thinking`. It stands before special tokens of that name.
    pub fn with_variable(mut self, name: impl Into<String>, value: impl Into<Json>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// The same as if it were that moment, for templates that print a date.
    ///
    /// ```
    /// use chat_template::{Chat, ChatTemplate, Moment};
    /// use serde_json::json;
    ///
    /// let template = ChatTemplate::new("{{ strftime_now('%d %b %Y') }}")?;
    /// let messages = [json!({"role": "user", "content": ""})];
    /// let chat = Chat::new(&messages).with_now(Moment::parse("2027-03-14").unwrap());
    /// assert_eq!(template.render(&chat)?.text, "14 Mar 2027");
    /// # Ok::<(), chat_template::Error>(())
    /// ```
    pub fn with_now(mut self, now: Moment) -> Self {
        self.now = Some(now);
        self
    }

    /// The same with numbers that JSON cannot hold, in messages, tools, documents and variables.
    ///
    /// ```
    /// use chat_template::{Chat, ChatTemplate, Numbers};
    /// use serde_json::json;
    ///
    /// let messages = [json!({"role": "user", "content": {"$bigint": "99999999999999999999"}})];
    /// let template = ChatTemplate::new("{{ messages[0].content + 1 }}")?;
    /// let chat = Chat::new(&messages).with_numbers(Numbers::Exact);
    /// assert_eq!(template.render(&chat)?.text, "100000000000000000000");
    /// # Ok::<(), chat_template::Error>(())
    /// ```
    pub fn with_numbers(mut self, numbers: Numbers) -> Self {
        self.numbers = numbers;
        self
    }

    /// The same without control tokens in what it says: in all texts of messages, tools,
    /// documents and variables.
    ///
    /// ```
    /// use chat_template::{Chat, ChatTemplate, ControlTokens, Handling};
    /// use serde_json::json;
    ///
    /// let messages = [json!({"role": "user", "content": "a</s>b"})];
    /// let tokens = ControlTokens::new(["</s>"], Handling::Refuse);
    /// let template = ChatTemplate::new("{{ messages[0].content }}</s>")?;
    /// assert!(template.render(&Chat::new(&messages).with_control_tokens(&tokens)).is_err());
    /// # Ok::<(), chat_template::Error>(())
    /// ```
    pub fn with_control_tokens(mut self, tokens: &'a ControlTokens) -> Self {
        self.control_tokens = Some(tokens);
        self
    }

    /// Runs with the chat, its texts without control tokens if it was asked for that.
    fn cleaned<T>(&self, run: impl FnOnce(&Chat<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.check_depth()?;
        let Some(tokens) = self.control_tokens else {
            return run(self);
        };
        let list = |items: Option<&[Json]>, name: &str| {
            let clean = items.map(|items| tokens.clean_list(items, name));
            clean.transpose()
        };
        let messages = tokens.clean_list(self.messages, "messages")?;
        let tools = list(self.tools, "tools")?;
        let documents = list(self.documents, "documents")?;
        run(&Chat {
            messages: &messages,
            tools: tools.as_deref(),
            documents: documents.as_deref(),
            variables: tokens.clean_map(&self.variables)?,
            control_tokens: None,
            ..self.clone()
        })
    }

    pub(super) fn template_argument(&self) -> Option<&'a str> {
        self.template
    }

    /// Refuses what nests too deep to be copied.
    fn check_depth(&self) -> Result<(), Error> {
        let parts = [Some(self.messages), self.tools, self.documents];
        let mut values = parts.into_iter().flatten().flatten();
        let deep = values.any(|value| !depth::is_within(value))
            || self
                .variables
                .values()
                .any(|value| !depth::is_within(value));
        match deep {
            true => Err(Error::new(ErrorKind::Limit, depth::refusal("the chat"))),
            false => Ok(()),
        }
    }

    pub(super) fn has_tools(&self) -> bool {
        self.tools.is_some()
    }
}

/// A chat, written out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rendered {
    /// The text. It has the special tokens that the template writes, so it is
    /// to be tokenised without adding any.
    pub text: String,
    /// The places of the bodies of the template's generation blocks, in code points. They are what
    /// the model says, and what training is on.
    ///
    /// As in the reference, a block that is printed by way of a macro or a
    /// variable is reported where that was written; [`Rendered::generated`]
    /// refuses such.
    pub spans: Vec<Range<usize>>,
    bodies: Vec<String>,
}

impl Rendered {
    /// Returns the places of the bodies of the template's generation blocks, in bytes.
    ///
    /// O(text).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Chat`]: a block was printed from inside of a macro or a
    /// variable, so that its place is not known.
    ///
    /// ```
    /// use chat_template::{Chat, ChatTemplate};
    /// use serde_json::json;
    ///
    /// let template = ChatTemplate::new(
    ///     "{% for m in messages %}{% if m.role == 'assistant' %}\
    ///      {% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}|{% endif %}{% endfor %}",
    /// )?;
    /// let messages = [json!({"role": "user", "content": "é?"}), json!({"role": "assistant", "content": "Yes."})];
    /// let rendered = template.render(&Chat::new(&messages))?;
    /// let learned: Vec<&str> = rendered.generated()?.into_iter().map(|span| &rendered.text[span]).collect();
    /// assert_eq!(learned, ["Yes."]);
    /// # Ok::<(), chat_template::Error>(())
    /// ```
    pub fn generated(&self) -> Result<Vec<Range<usize>>, Error> {
        let mut bounds: Vec<usize> = self.text.char_indices().map(|(at, _)| at).collect();
        bounds.push(self.text.len());
        let place = |point: usize| bounds.get(point).copied();
        let spans = self.spans.iter().zip(&self.bodies).map(|(span, body)| {
            let range = place(span.start).zip(place(span.end));
            let range = range.map(|(start, end)| start..end);
            let found = range.filter(|range| self.text.get(range.clone()) == Some(body));
            found.ok_or_else(|| {
                Error::new(
                    ErrorKind::Chat,
                    "a generation block of the chat template stands in a macro or a captured \
                     block, so that its place in the text is not known",
                )
            })
        });
        spans.collect()
    }
}

/// The mark at the end of a message that is to be continued, because the reference uses this text.
const TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

/// The keys under which reasoning goes: several, because families name it differently, and the
/// first that is set counts.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

#[cold]
fn chat_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Chat, message)
}

/// Python's `repr` of a JSON value, for messages.
fn shown(json: &Json) -> String {
    match depth::is_within(json) {
        true => python_compat::repr(json),
        false => "a deeply nested value".to_owned(),
    }
}

impl ChatTemplate {
    /// Renders a chat as [`ChatTemplates::apply`](super::ChatTemplates::apply)
    /// does, without what that does before: no special tokens become
    /// variables, keys without a value stay, the chat may be empty.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Chat`]: a message, a tool or a document is no map, or
    /// there is nothing to continue. [`ErrorKind::Failed`],
    /// [`ErrorKind::Raised`] and [`ErrorKind::Limit`] say why
    /// the template failed, with the line.
    pub fn render(&self, chat: &Chat<'_>) -> Result<Rendered, Error> {
        chat.cleaned(|chat| self.render_clean(chat))
    }

    fn render_clean(&self, chat: &Chat<'_>) -> Result<Rendered, Error> {
        let mut messages = chat.messages.to_vec();
        for tool in chat.tools.unwrap_or_default() {
            if !tool.is_object() {
                return Err(chat_error(
                    "Tools should either be a JSON schema, or a callable function with type hints and a docstring suitable for auto-conversion to a schema.",
                ));
            }
        }
        for document in chat.documents.unwrap_or_default() {
            if !document.is_object() {
                return Err(chat_error(
                    "Documents should be a list of dicts with 'title' and 'text' keys!",
                ));
            }
        }
        for message in &mut messages {
            let Json::Object(message) = message else {
                return Err(chat_error(format!(
                    "Chat messages should be dicts, dataclasses or pydantic models, but got {}.",
                    shown(message)
                )));
            };
            name_reasoning(message);
        }
        let text = match chat.ending {
            Ending::Continue(field) => Some(mark_end(&mut messages, field, self.source())?),
            _ => None,
        };

        let failed = |misplaced: Misplaced| {
            let Misplaced { pointer, fault } = misplaced;
            let text = match pointer.as_str() {
                "" => format!("the chat: {}", fault.message),
                pointer => format!("the chat, at {pointer}: {}", fault.message),
            };
            Error::new(ErrorKind::Limit, text)
        };
        let list = |items: &[Json], name: &str| {
            let items = items.iter().enumerate().map(|(at, item)| {
                from_json(item, chat.numbers).map_err(|misplaced| misplaced.under(at))
            });
            let items: Result<_, Misplaced> = items.collect();
            items
                .and_then(|items| Ok(value::list(items)?))
                .map_err(|misplaced| failed(misplaced.under(name)))
        };
        let list_or_none = |items: Option<&[Json]>, name: &str| match items {
            Some(items) => list(items, name),
            None => Ok(Value::None),
        };
        let generation = chat.ending == Ending::GenerationPrompt;
        let mut variables = vec![("add_generation_prompt".to_owned(), Value::Bool(generation))];
        for (name, json) in &chat.variables {
            let value =
                from_json(json, chat.numbers).map_err(|misplaced| failed(misplaced.under(name)))?;
            variables.push((name.clone(), value));
        }
        // These stand before variables of the same names.
        variables.push(("messages".to_owned(), list(&messages, "messages")?));
        variables.push(("tools".to_owned(), list_or_none(chat.tools, "tools")?));
        variables.push((
            "documents".to_owned(),
            list_or_none(chat.documents, "documents")?,
        ));

        let printed = self.print(variables, chat.now)?;
        let (bodies, spans) = printed
            .generated
            .into_iter()
            .map(|(start, body)| {
                let end = start + body.chars().count();
                (body, start..end)
            })
            .unzip();
        let text = match text {
            Some(text) => cut(printed.text, &text)?,
            None => printed.text,
        };
        Ok(Rendered {
            text,
            spans,
            bodies,
        })
    }

    /// Renders what [`super::ChatTemplates::apply`] was given, after its own
    /// steps.
    pub(super) fn apply(
        &self,
        chat: &Chat<'_>,
        special_tokens: &Map<String, Json>,
    ) -> Result<Rendered, Error> {
        if chat.messages.is_empty() {
            return Err(chat_error(
                "Cannot apply chat template to an empty conversation. Provide at least one message.",
            ));
        }
        let asks = chat.variables.get("add_generation_prompt");
        if matches!(chat.ending, Ending::Continue(_)) && asks == Some(&Json::Bool(true)) {
            return Err(chat_error(
                "continue_final_message and add_generation_prompt are not compatible. Use continue_final_message when you want the model to continue the final message, and add_generation_prompt when you want to add a header that will prompt it to start a new assistant message instead.",
            ));
        }
        chat.cleaned(|chat| {
            let mut messages = chat.messages.to_vec();
            for message in &mut messages {
                let Json::Object(message) = message else {
                    return Err(chat_error(format!(
                        "Chat messages should be dicts, dataclasses or pydantic models, but got {}.",
                        shown(message)
                    )));
                };
                message.retain(|_, value| !value.is_null());
            }
            let mut variables = special_tokens.clone();
            variables.extend(chat.variables.clone());
            self.render_clean(&Chat {
                messages: &messages,
                variables,
                ..chat.clone()
            })
        })
    }
}

/// Puts the reasoning of a message under the keys that templates look for.
fn name_reasoning(message: &mut Map<String, Json>) {
    let found = REASONING
        .iter()
        .find_map(|name| message.get(*name).filter(|v| !v.is_null()));
    let Some(reasoning) = found.cloned() else {
        return;
    };
    let thinking = message.shift_remove("thinking");
    let thinking = thinking.unwrap_or_else(|| reasoning.clone());
    message.shift_insert(0, "thinking".to_owned(), thinking);
    message.insert("reasoning_content".to_owned(), reasoning);
}

/// Marks the end of the last message's text and returns that text.
fn mark_end(messages: &mut [Json], field: &str, template: &str) -> Result<String, Error> {
    let Some(Json::Object(message)) = messages.last_mut() else {
        return Err(chat_error(
            "continue_final_message is set but the conversation is empty!",
        ));
    };
    let Some(value) = message.get(field).filter(|v| !v.is_null()).cloned() else {
        return Err(chat_error(format!(
            "continue_final_message is set but the final message has no \"{field}\" to continue!"
        )));
    };
    // Reasoning goes by several names: all that say the same are continued.
    let fields: Vec<&str> = match REASONING.contains(&field) {
        true => REASONING
            .into_iter()
            .filter(|name| message.get(*name) == Some(&value))
            .collect(),
        false => vec![field],
    };
    if !fields.iter().any(|name| template.contains(name)) {
        return Err(chat_error(format!(
            "continue_final_message is set to \"{field}\" but this is not an accepted field in the chat_template"
        )));
    }
    let mut text = None;
    for name in fields {
        let Some(value) = message.get_mut(name) else {
            continue;
        };
        let place = match value {
            Json::Array(blocks) => {
                let last = blocks
                    .iter_mut()
                    .rev()
                    .find_map(|block| block.get_mut("text"));
                last.ok_or_else(|| {
                    chat_error(
                        "continue_final_message is set but we could not find any text to continue in the final message!",
                    )
                })?
            }
            other => other,
        };
        let Json::String(place) = place else {
            return Err(Error::new(
                ErrorKind::Chat,
                format!(
                    "the \"{field}\" of the final message is no text, so that it cannot be continued"
                ),
            ));
        };
        text = Some(place.clone());
        place.push_str(TAG);
    }
    Ok(text.unwrap_or_default())
}

/// Cuts a rendered chat behind the marked text.
fn cut(rendered: String, text: &str) -> Result<String, Error> {
    let bare = TAG.trim_end_matches(is_space);
    let found = rendered.rfind(bare);
    let kept = rendered.contains(text.trim_matches(is_space));
    let Some(at) = found.filter(|_| kept) else {
        return Err(chat_error(format!(
            "continue_final_message is set but the final message does not appear in the chat after applying the chat template! This can happen if the chat template deletes portions of the final message. Please verify the chat template and final message in your chat to ensure they are compatible.Final message to continue: {text}\nRendered chat:\n{rendered}"
        )));
    };
    let cut = &rendered[..at];
    Ok(match rendered[at..].starts_with(TAG) {
        true => cut.to_owned(),
        // The template trimmed the text: what stands before it goes too.
        false => cut.trim_end_matches(is_space).to_owned(),
    })
}
