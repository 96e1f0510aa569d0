//! The form in which a model writes its messages: the constraint that binds them, the template that
//! reads them, and the text that offers it tools. For example, a model of the family `hermes`
//! writes `<tool_call>{"name": "f", ..}</tool_call>`, and is bound to just that.

use std::path::Path;

use serde_json::{Value, json};
use tokenmold::Error;
use tokenmold::chat::{Chat, ChatTemplates};
use tokenmold::response_parser::{Family, ResponseTemplate};
use tokenmold::tags::{self, Beside, Count, ResponseFormat};

use super::parse::template_in;
use super::rule::Rule;
use super::schema::{SchemaOptions, Use};
use super::{Failure, read_json};

/// The tools of a file, wrapped as chat templates take them.
pub(crate) fn read_tools(file: &Path) -> Result<Vec<Value>, Failure> {
    let Value::Array(tools) = read_json(file)? else {
        let file = file.display();
        return Err(Failure::new(format!("{file} is not a list of tools")));
    };
    Ok(wrapped(tools))
}

/// Tools as chat templates take them, bare or already so.
pub(crate) fn wrapped(tools: Vec<Value>) -> Vec<Value> {
    let wrapped = tools.into_iter().map(|tool| match tool.get("function") {
        Some(_) => tool,
        None => json!({"type": "function", "function": tool}),
    });
    wrapped.collect()
}

/// The source that says how the model writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form<'a> {
    /// The name of a ready-made format.
    Named(&'a str),
    /// A response template in a file.
    Template(&'a Path),
    /// The markers of the model's own chat template.
    Own(&'a ChatTemplates),
}

/// The calls that an answer may have.
#[derive(Clone, Debug)]
pub(crate) enum AskedCalls {
    /// As the model likes.
    Auto,
    /// None.
    None,
    /// One at least.
    Required,
    /// One of the tool of this name.
    Named(String),
}

impl From<&str> for AskedCalls {
    fn from(word: &str) -> AskedCalls {
        match word {
            "auto" => AskedCalls::Auto,
            "none" => AskedCalls::None,
            "required" => AskedCalls::Required,
            name => AskedCalls::Named(name.to_owned()),
        }
    }
}

/// The form in which a model writes, with its constraint and its reader.
pub(crate) struct Speech {
    pub(crate) format: ResponseFormat,
    pub(crate) template: ResponseTemplate,
}

impl Speech {
    /// Returns the form of an answer to `prompt`: `messages` as the template wrote them. The rule
    /// binds what is no call.
    pub(crate) fn new(
        form: Form<'_>,
        messages: &[Value],
        tools: &[Value],
        rule: Option<&Rule>,
        options: &SchemaOptions,
        prompt: &str,
    ) -> Result<Speech, Failure> {
        let fail = |error: Error| Failure::new(error.to_string());
        let unbound = |error: tags::Error| Failure::new(error.to_string());
        let known = match form {
            Form::Named(name) => Some(
                name.parse()
                    .map_err(|error| Failure::new(format!("{error}")))?,
            ),
            Form::Own(templates) => {
                let mut chat = Chat::new(messages);
                if !tools.is_empty() {
                    // An empty list counts as tools where there are several templates.
                    chat = chat.with_tools(tools);
                }
                let source = templates.source_for(&chat).map_err(fail)?;
                Some(
                    Family::of_chat_template(source)
                        .map_err(|unknown| Failure::new(format!("{unknown}: --format NAME")))?,
                )
            }
            Form::Template(_) => None,
        };
        let (format, template) = match (known, form) {
            (Some(known), _) => {
                let template = ResponseTemplate::of_family(known);
                let template = template.map_err(|error| Failure::new(error.to_string()))?;
                (ResponseFormat::named(known).map_err(unbound)?, template)
            }
            (None, Form::Template(file)) => {
                let template = ResponseTemplate::new(&template_in(file)?);
                let template = template.map_err(|error| Failure::of(file.display(), error))?;
                let format = ResponseFormat::from_template(&template);
                (
                    format.map_err(|error| Failure::of(file.display(), error))?,
                    template,
                )
            }
            (None, _) => return Err(Failure::new("no format is given")),
        };
        let format = format
            .with_tools(tools)
            .map_err(unbound)?
            .with_options(options.options(Use::Generate))
            .with_prompt(prompt);
        let format = match rule.map(|rule| rule.automaton.content()) {
            None => format,
            Some(Ok(Some(content))) => format.with_answer(content),
            Some(Ok(None)) => {
                return Err(Failure::new(
                    "a grammar and a saved index bind a whole text and no message: leave out \
                     --tools, --format and --response-template, or give a --schema or --regex",
                ));
            }
            Some(Err(error)) => return Err(Failure::new(error.to_string())),
        };
        Ok(Speech { format, template })
    }

    /// The same with calls as they are chosen. A call that must come is all of the answer.
    pub(crate) fn with_choice(
        self,
        choice: &AskedCalls,
        tools: &[Value],
    ) -> Result<Speech, Failure> {
        let Speech { format, template } = self;
        if let (AskedCalls::Required, []) = (choice, tools) {
            let message = "a call is required, and there are no tools: --tools FILE";
            return Err(Failure::new(message));
        }
        let format = match choice {
            AskedCalls::Auto => format,
            AskedCalls::None => format.with_calls(Count::NONE),
            AskedCalls::Required => format
                .with_calls(Count::AT_LEAST_ONE)
                .with_beside(Beside::Nothing),
            AskedCalls::Named(name) => {
                let is_named = |tool: &&Value| tool["function"]["name"] == name.as_str();
                let Some(named) = tools.iter().find(is_named) else {
                    return Err(Failure::new(format!("there is no tool {name:?}")));
                };
                let format = format.with_tools(std::slice::from_ref(named));
                format
                    .map_err(|error| Failure::new(error.to_string()))?
                    .with_calls(Count::ONE)
                    .with_beside(Beside::Nothing)
            }
        };
        Ok(Speech { format, template })
    }
}
