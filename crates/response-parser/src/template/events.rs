//! The events of a response that arrives piece by piece. For example, the pieces `<thi`, `nk>Hm` and
//! `.</think>` give a [`Event::RegionOpen`], two chunks and a [`Event::RegionClose`].

use std::sync::Arc;

use serde_json::Value as Json;

/// Something that happened while a response arrived.
///
/// ```
/// use response_parser::{Event, Family, ResponseTemplate, Turn};
///
/// let mut stream = ResponseTemplate::of_family(Family::HERMES)?.stream(&Turn::after(""))?;
/// let mut shown = String::new();
/// for piece in ["Hel", "lo."] {
///     for event in stream.feed(piece)? {
///         if let Event::RegionChunk { text, dirty: false, .. } = event {
///             shown += &text;
///         }
///     }
/// }
/// assert_eq!(stream.finish()?.message["content"], "Hello.");
/// assert!("Hello.".starts_with(&shown));
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A region of a field starts.
    RegionOpen {
        /// The field's name.
        field: Arc<str>,
    },
    /// Text of the open region.
    RegionChunk {
        /// The field's name.
        field: Arc<str>,
        /// The text, never empty.
        text: String,
        /// The text is raw material (JSON, tags, lines) that a user should not be shown.
        dirty: bool,
    },
    /// The region ends.
    RegionClose {
        /// The field's name.
        field: Arc<str>,
        /// The value of the region's text.
        value: Json,
    },
    /// A piece of the JSON of a call's arguments, as servers stream them. Only if asked for, see [`Pieces`](crate::Pieces).
    Arguments {
        /// The field's name.
        field: Arc<str>,
        /// The number of the call in the field, from 0.
        call: usize,
        /// The tool's name.
        name: String,
        /// The piece. All pieces of a call add up to the JSON of its arguments.
        text: String,
    },
    /// The region ends, and its text is not what it should be: a call that is cut off or cannot be read. Only in
    /// the extended language.
    RegionError {
        /// The field's name.
        field: Arc<str>,
        /// The text, with its marks. If it counts as content, chunks of that follow.
        text: String,
        /// The kind of the error, as [`ErrorKind::as_str`](crate::ErrorKind::as_str) has it.
        kind: String,
        /// The message of the error.
        message: String,
    },
}

impl Event {
    /// The name of the field that the event is about.
    #[must_use]
    pub fn field(&self) -> &str {
        match self {
            Event::RegionOpen { field }
            | Event::RegionChunk { field, .. }
            | Event::RegionClose { field, .. }
            | Event::Arguments { field, .. }
            | Event::RegionError { field, .. } => field,
        }
    }

    /// The event as the reference writes it: an object with `type`, `field` and what belongs
    /// to it.
    ///
    /// ```
    /// use response_parser::{Family, ResponseTemplate, Turn};
    /// use serde_json::json;
    ///
    /// let mut stream = ResponseTemplate::of_family(Family::HERMES)?.stream(&Turn::after(""))?;
    /// let events = stream.feed("<think>\nHm.")?;
    /// assert_eq!(events[0].to_json(), json!({"type": "region_open", "field": "reasoning_content"}));
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Event::RegionOpen { field } => {
                serde_json::json!({"type": "region_open", "field": &**field})
            }
            Event::RegionChunk { field, text, dirty } => serde_json::json!(
                {"type": "region_chunk", "field": &**field, "text": text, "dirty": dirty}
            ),
            Event::RegionClose { field, value } => {
                serde_json::json!({"type": "region_close", "field": &**field, "value": value})
            }
            Event::Arguments {
                field,
                call,
                name,
                text,
            } => serde_json::json!({
                "type": "arguments", "field": &**field, "call": call, "name": name, "text": text
            }),
            Event::RegionError {
                field,
                text,
                kind,
                message,
            } => serde_json::json!({
                "type": "region_error", "field": &**field, "text": text, "kind": kind, "message": message
            }),
        }
    }

    /// Joins chunks of one region that follow each other. The events that are left are the same for
    /// every way of cutting a response.
    ///
    /// ```
    /// use response_parser::{Event, Family, ResponseTemplate, Turn};
    ///
    /// let template = ResponseTemplate::of_family(Family::HERMES)?;
    /// let read = |pieces: &[&str]| {
    ///     let mut stream = template.stream(&Turn::after(""))?;
    ///     let mut events = Vec::new();
    ///     for piece in pieces {
    ///         stream.feed_into(piece, &mut events)?;
    ///     }
    ///     events.extend(stream.finish()?.events);
    ///     Ok::<_, response_parser::Error>(Event::merge(events))
    /// };
    /// assert_eq!(read(&["Hello."])?, read(&["He", "l", "lo."])?);
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    #[must_use]
    pub fn merge(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
        let mut merged: Vec<Event> = Vec::new();
        for event in events {
            if let (Some(Event::RegionChunk { text, .. }), Event::RegionChunk { text: more, .. }) =
                (merged.last_mut(), &event)
            {
                text.push_str(more);
            } else {
                merged.push(event);
            }
        }
        merged
    }
}
