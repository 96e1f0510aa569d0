//! Chats: the messages of a conversation, written out as a model wants them.
//!
//! A model's files carry a *chat template*, a Jinja program that turns messages
//! into text. [`ChatTemplates`] reads and renders them with the answers of the
//! reference, `apply_chat_template` of transformers 5 (in Python), byte for
//! byte; `docs/CONFORMANCE.md` lists what differs.
//!
//! ```
//! use serde_json::json;
//! use tokenmold::chat::{Chat, ChatTemplates, Ending};
//!
//! let templates = ChatTemplates::from_source(
//!     "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}\
//!      {% if add_generation_prompt %}<assistant>{% endif %}",
//! );
//! let messages = [json!({"role": "user", "content": "Hello!"})];
//! let chat = Chat::new(&messages).with_ending(Ending::GenerationPrompt);
//! assert_eq!(templates.apply(&chat)?.text, "<user>Hello!\n<assistant>");
//! # Ok::<(), tokenmold::Error>(())
//! ```
//!
//! # How it is done
//!
//! The template is read by a parser of our own and written out for `minijinja`,
//! with every operator, attribute, filter and test as a call of a function that
//! does what Python does. minijinja runs it: scopes, loops, macros, captures,
//! and fuel.
//!
//! # Limits
//!
//! Templates are programs of strangers. Besides [`Limits`]:
//!
//! | what | limit |
//! |---|---|
//! | nesting of blocks and expressions in the source | 48 |
//! | levels of an expression with its chains of operators unrolled | 192 |
//! | `elif` branches of one `if` | 192 |
//! | nesting of lists and maps, those of the messages too | 128 |
//! | bytes that a list or map stands for | 64 MiB |
//! | items of a `range` | 100,000 |
//! | width of a formatted field | 10,000 characters |
//! | indentation or separators of `tojson` | 256 bytes |
//! | calls of macros inside each other | about 100 |
//! | integers | 127 bits |

mod apply;
pub mod chatml;
mod files;
mod python;
mod template;
#[cfg(feature = "tokenizers")]
mod tokens;

pub use self::apply::{Chat, Ending, Rendered};
pub use self::files::ChatTemplates;
pub use self::python::time::Moment;
pub use self::template::{ChatTemplate, Limits};
#[cfg(feature = "tokenizers")]
pub use self::tokens::{Batch, EncodedChat, PaddingSide};

/// A value as the text of a message: texts as they are, others as Python
/// prints them.
#[cfg(feature = "tools")]
pub(crate) fn value_as_text(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => python::value::from_json(other).map_or_else(
            |_| crate::depth::shown(other),
            |value| python::text::str(&value),
        ),
    }
}
