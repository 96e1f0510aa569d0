//! The choices of those who read responses: the language of templates, what becomes of broken calls
//! and of pieces of calls. For example, with [`Broken::Drop`] the text of a call that cannot be read is
//! no content.

/// The pieces of a call that a stream gives before the call ends.
///
/// A call that has begun may be cut off or turn out to be none, and its pieces cannot be taken back: the
/// [`Event::RegionError`](crate::Event::RegionError) at its end says so.
///
/// ```
/// use response_parser::{Event, Family, Pieces, ResponseTemplate, Turn};
///
/// let builder = ResponseTemplate::builder().with_pieces(Pieces::Arguments);
/// let mut stream = builder.family(Family::HERMES)?.stream(&Turn::after(""))?;
/// let mut seen = String::new();
/// for piece in ["<tool_call>{\"name\": \"f\", \"arguments\": {\"city\": \"Os", "lo\"", "}}</tool_call>"] {
///     for event in stream.feed(piece)? {
///         if let Event::Arguments { text, .. } = event {
///             seen += &text;
///         }
///     }
///     assert!("{\"city\": \"Oslo\"}".starts_with(&seen) && seen.len() > 10);
/// }
/// assert_eq!(seen, "{\"city\": \"Oslo\"}");
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pieces {
    /// None but the raw text.
    #[default]
    None,
    /// [`Event::Arguments`](crate::Event::Arguments). If a family writes calls in JSON or parameter by parameter, they come
    /// with the text; of a list of calls, and of other languages than JSON, once the call ends.
    Arguments,
}

/// The language that a response template is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// That of Hugging Face transformers, of the [`TemplateRelease`] at hand, and nothing else.
    #[default]
    HuggingFace,
    /// The same with the members by which families tell calls from text, see [`ResponseTemplate`](crate::ResponseTemplate).
    Extended,
}

/// The release of transformers whose language of response templates is meant.
///
/// ```
/// use response_parser::{ResponseTemplate, TemplateRelease};
/// use serde_json::json;
///
/// let template = json!({"start_anchor": "<|assistant|>", "fields": {"call": {
///     "open": "<call>", "close_pattern": "</call (?P<name>\\w+)>",
///     "transform": {"name": "{name}", "input": "{content}"}
/// }}});
/// let read = |release| ResponseTemplate::builder().with_release(release).build(&template)?.parse("<call>x</call f>");
/// assert_eq!(read(TemplateRelease::V5_24)?, json!({"call": {"name": "f", "input": "x"}}));
/// assert!(read(TemplateRelease::V5_23).is_err());
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateRelease {
    /// 5.23: named groups of what closes a region are not looked at; keys without quotes have no blanks around them, and
    /// are also found within strings; `merge_duplicates` adds to a value that is a list itself.
    V5_23,
    /// 5.24: a transform knows the named groups of what closed its region, which hide those of what opened it; keys
    /// without quotes may have blanks around them, and what stands in quotes is left alone; the values of a key that
    /// `merge_duplicates` collects may be lists; and
    /// there is the content parser `python-call-list`.
    #[default]
    V5_24,
}

/// The fate of a call that cannot be read, or was cut off. Templates of the reference's language
/// always fail.
///
/// ```
/// use response_parser::{Broken, Family, ResponseTemplate};
///
/// let text = "Hi <tool_call>{not json}</tool_call>";
/// assert_eq!(ResponseTemplate::of_family(Family::HERMES)?.parse(text)?["content"], text);
/// let builder = ResponseTemplate::builder().with_broken(Broken::Drop);
/// assert_eq!(builder.family(Family::HERMES)?.parse(text)?["content"], "Hi ");
/// let builder = ResponseTemplate::builder().with_broken(Broken::Fail);
/// assert!(builder.family(Family::HERMES)?.parse(text).is_err());
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Broken {
    /// An event, and the text of what cannot be read is content. A call that was cut off is not: it
    /// would have become a call.
    #[default]
    Content,
    /// An event alone.
    Drop,
    /// An error, with which the stream is over.
    Fail,
}

/// The kind of a piece of a response, if its tokens are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Piece {
    /// A special token of the tokenizer's.
    Special,
    /// Any other text. Text that is spelt like a special token in it is none.
    Text,
}
