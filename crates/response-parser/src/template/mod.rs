//! Response templates: a text as regions between delimiters. For example, by the template of a
//! family that thinks, `<think>Hm.</think>Hi.` has the region `Hm.` of the field
//! `reasoning_content` and the region `Hi.` of the field `content`.

mod arguments;
mod brackets;
mod call;
mod call_content;
mod call_list;
mod choices;
mod content;
mod content_parsers;
mod cuts;
mod events;
mod fields;
mod inner;
mod json_dialect;
mod load;
mod loose;
mod machine;
mod members;
mod model_dir;
mod output;
mod regions;
mod shape;
mod stream;
mod streamed;
mod tools;
mod transform;

use std::sync::Arc;

use families::Family;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::error::{Error, ErrorKind};
use crate::schema::Mode;
use crate::value::Unrepresentable;
use crate::value::{Object, Value};
use cuts::Phase;
use inner::TemplateInner;
use machine::Machine;
use output::{OneShot, finish, to_json};
use tools::Tools;

pub use choices::{Broken, Language, Piece, Pieces, TemplateRelease};
pub use events::Event;
pub use machine::End;
pub use model_dir::family_of_model_dir;
pub use stream::{Finished, PartialValue, TemplateStream};
pub use tools::Names;

/// A compiled response template: the form of Hugging Face transformers, see [`TemplateRelease`], with `open`,
/// `close`, `content` and their kin for each field. Immutable, cheap to clone, and shared
/// freely between threads.
///
/// ```
/// use response_parser::{Event, ResponseTemplate, Turn};
/// use serde_json::json;
///
/// let template = ResponseTemplate::new(&json!({
///     "defaults": {"role": "assistant"},
///     "start_anchor": "<|im_start|>assistant\n",
///     "fields": {
///         "thinking": {"open": "<think>", "close": "</think>"},
///         "tool_calls": {
///             "open": "<tool_call>", "close": "</tool_call>", "repeats": true,
///             "content": "json", "transform": {"type": "function", "function": "{content}"}
///         },
///         "content": {"close": "<|im_end|>"}
///     }
/// }))?;
/// let mut stream = template.stream(&Turn::after("<|im_start|>assistant\n"))?;
/// let mut events = stream.feed("<think>Hm.</th")?;
/// events.extend(stream.feed("ink>Hello.<|im_end|>")?);
/// assert_eq!(Event::merge(events).len(), 6);
/// assert_eq!(
///     stream.finish()?.message,
///     json!({"role": "assistant", "thinking": "Hm.", "content": "Hello."})
/// );
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone)]
pub struct ResponseTemplate {
    inner: Arc<TemplateInner>,
}

/// Options of a [`ResponseTemplate`], from [`ResponseTemplate::builder`].
#[derive(Clone, Debug, Default)]
pub struct ResponseTemplateBuilder {
    mode: Mode,
    unrepresentable: Unrepresentable,
    language: Language,
    release: TemplateRelease,
    broken: Broken,
    names: Names,
    pieces: Pieces,
}

impl ResponseTemplateBuilder {
    /// Says how faithful to be where the reference implementation fails; [`Mode::Lenient`] unless
    /// told. For templates the modes differ in one thing: what is wrong with a content parser's
    /// arguments fails in the lenient mode when the template is loaded, in the reference's when the
    /// parser is used.
    #[must_use]
    pub fn with_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Says what to make of values that JSON cannot hold; [`Unrepresentable::Refuse`] unless told.
    #[must_use]
    pub fn with_unrepresentable(mut self, unrepresentable: Unrepresentable) -> Self {
        self.unrepresentable = unrepresentable;
        self
    }

    /// The language of the template; [`Language::HuggingFace`] unless told.
    #[must_use]
    pub fn with_language(mut self, language: Language) -> Self {
        self.language = language;
        self
    }

    /// The release of the reference whose language it is; [`TemplateRelease::V5_24`] unless told.
    #[must_use]
    pub fn with_release(mut self, release: TemplateRelease) -> Self {
        self.release = release;
        self
    }

    /// Says what becomes of a call that cannot be read; [`Broken::Content`] unless told.
    #[must_use]
    pub fn with_broken(mut self, broken: Broken) -> Self {
        self.broken = broken;
        self
    }

    /// Which names of calls are taken; [`Names::Any`] unless told. For the extended language.
    #[must_use]
    pub fn with_names(mut self, names: Names) -> Self {
        self.names = names;
        self
    }

    /// Which pieces of a call a stream gives; [`Pieces::None`] unless told. For the extended language.
    #[must_use]
    pub fn with_pieces(mut self, pieces: Pieces) -> Self {
        self.pieces = pieces;
        self
    }

    /// Compiles the template of a family, in the extended language.
    ///
    /// # Errors
    ///
    /// None in practice: the templates are fixed ones.
    pub fn family(self, family: Family) -> Result<ResponseTemplate, Error> {
        self.with_language(Language::Extended)
            .build(family.template())
    }

    /// Compiles `template`: time and memory linear in its size.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TemplateLoad`] for what the form does not allow, with the place;
    /// [`ErrorKind::RegexUnsupported`] for a pattern that needs what this crate lacks.
    pub fn build(&self, template: &Json) -> Result<ResponseTemplate, Error> {
        let json = template;
        let template = load::load(template, self.mode, self.language, self.release)?;
        // It is as deep as a template may be, or was refused.
        let json = json.clone();
        let beyond = self.unrepresentable.beyond();
        let inner = Arc::new(TemplateInner {
            template,
            json,
            beyond,
            broken: self.broken,
            names: self.names,
            pieces: self.pieces,
        });
        Ok(ResponseTemplate { inner })
    }
}

/// The context of a response: the prompt's end, and the tools that were offered.
///
/// ```
/// use response_parser::{Family, ResponseTemplate, Turn};
/// use serde_json::json;
///
/// // The prompt has opened the reasoning, and the tool takes a number.
/// let tools = json!([{"type": "function", "function": {
///     "name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}
/// }}]);
/// let turn = Turn::after("<|im_start|>assistant\n<think>\n").with_tools(&tools);
/// let said = "Hm.\n</think>\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\": \"3\"}}\n</tool_call>";
/// let message = ResponseTemplate::of_family(Family::HERMES)?.parse_turn(&turn, said)?;
/// assert_eq!(message["reasoning_content"], "Hm.");
/// assert_eq!(message["tool_calls"][0]["function"]["arguments"], json!({"n": 3}));
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn<'a> {
    prefix: Option<&'a str>,
    tools: Option<&'a Json>,
    specials: &'a [&'a str],
}

impl<'a> Turn<'a> {
    /// A turn of which nothing is known. Most templates need a prefix, so a stream of this
    /// turn is refused; give `""` if the prompt is over where the response starts.
    #[must_use]
    pub fn new() -> Turn<'a> {
        Turn::default()
    }

    /// A turn after the rendered prompt `prefix`, or any tail of it that has the last start
    /// anchor.
    #[must_use]
    pub fn after(prefix: &'a str) -> Turn<'a> {
        Turn::new().with_prefix(prefix)
    }

    /// Sets the rendered prompt. The text behind its last start anchor counts as the beginning of
    /// the response: some prompts open the reasoning already.
    #[must_use]
    pub fn with_prefix(mut self, prefix: &'a str) -> Turn<'a> {
        self.prefix = Some(prefix);
        self
    }

    /// Sets the texts of the tokenizer's special tokens: of what comes by [`TemplateStream::feed_pieces`] they are marks
    /// only as tokens of their own. For the extended language.
    #[must_use]
    pub fn with_special_tokens(mut self, specials: &'a [&'a str]) -> Self {
        self.specials = specials;
        self
    }

    /// Sets the tools, as a chat template takes them. Arguments that the model wrote as text
    /// are cast to the types that their schemas say.
    #[must_use]
    pub fn with_tools(mut self, tools: &'a Json) -> Turn<'a> {
        self.tools = Some(tools);
        self
    }
}

impl ResponseTemplate {
    /// Compiles `template` in the lenient mode.
    ///
    /// # Errors
    ///
    /// See [`ResponseTemplateBuilder::build`].
    pub fn new(template: &Json) -> Result<ResponseTemplate, Error> {
        ResponseTemplate::builder().build(template)
    }

    /// The template by which a family's texts are read.
    ///
    /// # Errors
    ///
    /// None in practice: the templates are fixed ones.
    ///
    /// ```
    /// use response_parser::{Family, ResponseTemplate};
    ///
    /// let template = ResponseTemplate::of_family(Family::HERMES)?;
    /// let message = template.parse("<think>\nHm.\n</think>\nHello.")?;
    /// assert_eq!(message["reasoning_content"], "Hm.");
    /// assert_eq!(message["content"], "Hello.");
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    pub fn of_family(family: Family) -> Result<ResponseTemplate, Error> {
        ResponseTemplate::builder().family(family)
    }

    /// Options for compiling a template.
    #[must_use]
    pub fn builder() -> ResponseTemplateBuilder {
        ResponseTemplateBuilder::default()
    }

    /// Starts to read a response that arrives in pieces.
    ///
    /// The events that the prefix already settles are thrown away;
    /// [`ResponseTemplate::stream_with`] gives them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PrefixRequired`] for a turn without a prefix; otherwise as
    /// [`TemplateStream::feed`], for the prefix.
    pub fn stream(&self, turn: &Turn<'_>) -> Result<TemplateStream, Error> {
        self.stream_with(turn, &mut Vec::new())
    }

    /// Like [`ResponseTemplate::stream`], and appends the events of the prefix to `events`.
    ///
    /// # Errors
    ///
    /// As [`ResponseTemplate::stream`].
    pub fn stream_with(
        &self,
        turn: &Turn<'_>,
        events: &mut Vec<Event>,
    ) -> Result<TemplateStream, Error> {
        let prefix = turn.prefix.ok_or_else(prefix_required)?;
        let tools = Tools::new(turn.tools);
        TemplateStream::new(self.inner.clone(), tools, turn.specials, prefix, events)
    }

    /// Returns the part of a rendered prompt that belongs to the response already: all behind its
    /// last start anchor. `None` if it has no start anchor; [`Turn::after`] such a prompt takes all
    /// of it for the response's, as the reference does.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegexBudget`] where matching takes too long.
    ///
    /// ```
    /// use response_parser::{Family, ResponseTemplate};
    ///
    /// let template = ResponseTemplate::of_family(Family::HERMES)?;
    /// let prompt = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n";
    /// assert_eq!(template.behind_anchor(prompt)?, Some("<think>\n"));
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    pub fn behind_anchor<'p>(&self, prompt: &'p str) -> Result<Option<&'p str>, Error> {
        stream::behind_anchor(&self.inner.template, prompt)
    }

    /// Reads a whole response that follows no prompt: the same as a turn with an empty prefix.
    ///
    /// # Errors
    ///
    /// As [`ResponseTemplate::parse_turn`].
    pub fn parse(&self, text: &str) -> Result<Json, Error> {
        self.parse_turn(&Turn::after(""), text)
    }

    /// Reads a whole response into a type of the caller's.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Deserialize`] where the message does not fit the type; otherwise as
    /// [`ResponseTemplate::parse_turn`].
    ///
    /// ```
    /// use response_parser::{Family, ResponseTemplate, Turn};
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize)]
    /// struct Message {
    ///     role: String,
    ///     content: String,
    /// }
    ///
    /// let template = ResponseTemplate::of_family(Family::HERMES)?;
    /// let message: Message = template.parse_turn_as(&Turn::after(""), "Hello.")?;
    /// assert_eq!((message.role.as_str(), message.content.as_str()), ("assistant", "Hello."));
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    pub fn parse_turn_as<T: DeserializeOwned>(
        &self,
        turn: &Turn<'_>,
        text: &str,
    ) -> Result<T, Error> {
        crate::error::into_type(self.parse_turn(turn, text)?)
    }

    /// The template as it was given.
    #[must_use]
    pub fn json(&self) -> &Json {
        &self.inner.json
    }

    /// Reads a whole response: the message that a stream would end with, in one go and
    /// without copying.
    ///
    /// # Errors
    ///
    /// As [`TemplateStream::feed`] and [`TemplateStream::finish`].
    pub fn parse_turn(&self, turn: &Turn<'_>, text: &str) -> Result<Json, Error> {
        let prefix = turn.prefix.ok_or_else(prefix_required)?;
        let TemplateInner {
            template, beyond, ..
        } = &*self.inner;
        if template.language == Language::Extended {
            return Ok(self.read(turn, text, End::Stop)?.message);
        }
        if !stream::after_anchor(template, prefix)?.is_empty() {
            let mut stream = self.stream(turn)?;
            stream.feed(text)?;
            return Ok(stream.finish()?.message);
        }
        let tools = Tools::new(turn.tools);
        let mut output: Object<'_> = template.defaults.clone();
        let mut regions = OneShot {
            template,
            tools: &tools,
            text,
            output: &mut output,
        };
        Machine::new(template).run(template, text, Phase::Whole, &mut regions)?;
        let output = finish(template, output)?;
        to_json(Value::Object(output), *beyond)
    }
}

impl ResponseTemplate {
    /// Reads a whole response that is over for this reason: the message, and all that happened on the way, such as
    /// calls that could not be read.
    ///
    /// # Errors
    ///
    /// As [`TemplateStream::feed`] and [`TemplateStream::finish`].
    ///
    /// ```
    /// use response_parser::{End, Event, Family, ResponseTemplate, Turn};
    ///
    /// let template = ResponseTemplate::of_family(Family::HERMES)?;
    /// let read = template.read(&Turn::after(""), "Hi<tool_call>{}</tool_call>", End::Stop)?;
    /// let errors = read.events.iter().filter(|event| matches!(event, Event::RegionError { .. }));
    /// assert_eq!(errors.count(), 1);
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    pub fn read(&self, turn: &Turn<'_>, text: &str, end: End) -> Result<Finished, Error> {
        self.stream(turn)?.finish_with(text, end)
    }
}

#[cold]
fn prefix_required() -> Error {
    let message = "give the prompt as the turn's prefix, or \"\" if there is none";
    Error::new(ErrorKind::PrefixRequired, "", message)
}

impl std::fmt::Debug for ResponseTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self
            .inner
            .template
            .fields
            .iter()
            .map(|field| &*field.name)
            .collect();
        f.debug_struct("ResponseTemplate")
            .field("fields", &names)
            .finish_non_exhaustive()
    }
}
