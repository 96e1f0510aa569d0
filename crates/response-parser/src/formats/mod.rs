//! Ready-made templates for families of open models.

use std::fmt;
use std::str::FromStr;

use serde_json::Value as Json;

use crate::error::{Error, ErrorKind};
use crate::template::ResponseTemplate;

macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// How a family of models writes reasoning, content and tool calls.
        ///
        /// Each is a [`ResponseTemplate`], written for this crate. The message has
        /// `role`, `content`, `tool_calls` (with the arguments as an object) and the
        /// reasoning under the name that the family's chat template reads: `thinking` for
        /// [`Format::Harmony`], [`Format::Cohere`] and [`Format::SmolLm3`],
        /// `reasoning_content` for the others.
        ///
        /// ```
        /// use response_parser::{Format, Turn};
        /// use serde_json::json;
        ///
        /// let template = Format::by_name("hermes").unwrap().template()?;
        /// let text = "Let me look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call><|im_end|>";
        /// assert_eq!(template.parse(text)?, json!({
        ///     "role": "assistant",
        ///     "content": "Let me look.",
        ///     "tool_calls": [
        ///         {"type": "function", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}
        ///     ]
        /// }));
        /// # Ok::<(), response_parser::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$doc])* $variant,)*
        }

        impl Format {
            /// All formats.
            pub const ALL: &'static [Format] = &[$(Format::$variant),*];

            /// The format's name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Format::$variant => $name,)*
                }
            }

            fn source(self) -> &'static str {
                match self {
                    $(Format::$variant => include_str!(concat!($name, ".json")),)*
                }
            }
        }
    };
}

formats! {
    /// Qwen2.5, Qwen3, Hermes and other ChatML models: JSON in `<tool_call>`.
    Hermes = "hermes",
    /// Qwen3-Coder, Qwen3.5, Nemotron 3: `<function=...>` with `<parameter=...>`.
    Qwen3Coder = "qwen3-coder",
    /// SmolLM3.
    SmolLm3 = "smollm3",
    /// Llama 3.1, 3.2 and 3.3: a call is the whole message.
    Llama3 = "llama3",
    /// Mistral up to tokenizer v7: a JSON list after `[TOOL_CALLS]`.
    Mistral = "mistral",
    /// Mistral since tokenizer v11, Magistral, Devstral: `[TOOL_CALLS]name[ARGS]{...}`.
    MistralV11 = "mistral-v11",
    /// DeepSeek V3 and R1: arguments in a fenced block.
    DeepSeekV3 = "deepseek-v3",
    /// DeepSeek V3.1 and V3.2.
    DeepSeekV31 = "deepseek-v3.1",
    /// GPT-OSS: channels.
    Harmony = "harmony",
    /// Gemma 2 and 3, which have no form of their own for calls.
    Gemma = "gemma",
    /// Gemma 4.
    Gemma4 = "gemma4",
    /// Cohere Command R7B and A.
    Cohere = "cohere",
    /// GLM 4.5 and 4.6.
    Glm4 = "glm4",
    /// Kimi K2.
    KimiK2 = "kimi-k2",
    /// MiniMax M2.
    MiniMaxM2 = "minimax-m2",
    /// Phi-4-mini.
    Phi4Mini = "phi4-mini",
}

impl Format {
    /// The format of that name.
    ///
    /// ```
    /// use response_parser::Format;
    ///
    /// assert_eq!(Format::by_name("hermes"), Some(Format::Hermes));
    /// assert!(Format::ALL.iter().all(|format| Format::by_name(format.name()) == Some(*format)));
    /// ```
    #[must_use]
    pub fn by_name(name: &str) -> Option<Format> {
        Format::ALL
            .iter()
            .copied()
            .find(|format| format.name() == name)
    }

    /// The format that a model with this chat template writes, if its markers are known.
    ///
    /// The text is only searched for markers: the template need not be complete.
    ///
    /// ```
    /// use response_parser::Format;
    ///
    /// let source = "{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}[TOOL_CALLS][AVAILABLE_TOOLS]";
    /// assert_eq!(Format::of_chat_template(source), Some(Format::Mistral));
    /// assert_eq!(Format::of_chat_template("{{ messages }}"), None);
    /// ```
    #[must_use]
    pub fn of_chat_template(chat_template: &str) -> Option<Format> {
        let has = |marker: &str| chat_template.contains(marker);
        // The most telling markers come first.
        Some(if has("<|channel|>") && has("<|message|>") {
            Format::Harmony
        } else if has("<|START_ACTION|>") || has("<|START_RESPONSE|>") {
            Format::Cohere
        } else if has("<|tool_call>") {
            Format::Gemma4
        } else if has("<start_of_turn>") {
            Format::Gemma
        } else if has("<|tool_call_argument_begin|>") {
            Format::KimiK2
        } else if has("<minimax:tool_call>") {
            Format::MiniMaxM2
        } else if has("<arg_key>") {
            Format::Glm4
        } else if has("<function=") {
            Format::Qwen3Coder
        } else if has("<｜tool▁call▁begin｜>") {
            match has("```json") {
                true => Format::DeepSeekV3,
                false => Format::DeepSeekV31,
            }
        } else if has("<｜Assistant｜>") {
            Format::DeepSeekV3
        } else if has("[TOOL_CALLS]") {
            match has("[ARGS]") {
                true => Format::MistralV11,
                false => Format::Mistral,
            }
        } else if has("[/INST]") {
            Format::Mistral
        } else if has("<|start_header_id|>") {
            Format::Llama3
        } else if has("<|tool_call|>") {
            Format::Phi4Mini
        } else if has("<|im_start|>") {
            match has("reasoning_mode") || has("/no_think") && has("xml_tools") {
                true => Format::SmolLm3,
                false => Format::Hermes,
            }
        } else {
            return None;
        })
    }

    /// The format's response template as JSON, to read or to change.
    ///
    /// ```
    /// use response_parser::{Format, ResponseTemplate};
    ///
    /// // With a role of one's own.
    /// let mut own = Format::Hermes.json();
    /// own["defaults"]["role"] = "helper".into();
    /// let message = ResponseTemplate::new(&own)?.parse("Hello.")?;
    /// assert_eq!((&message["role"], &message["content"]), (&"helper".into(), &"Hello.".into()));
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    #[must_use]
    pub fn json(self) -> Json {
        serde_json::from_str(self.source()).unwrap_or_default()
    }

    /// The format's response template, compiled.
    ///
    /// # Errors
    ///
    /// None in practice: the templates are fixed ones.
    ///
    /// ```
    /// use response_parser::Format;
    ///
    /// let message = Format::Hermes.template()?.parse("<think>\nHm.\n</think>\nHello.")?;
    /// assert_eq!(message["reasoning_content"], "Hm.");
    /// assert_eq!(message["content"], "Hello.");
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    pub fn template(self) -> Result<ResponseTemplate, Error> {
        ResponseTemplate::new(&self.json())
    }
}

/// The format's name.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// By the format's name, as [`Format::by_name`].
///
/// ```
/// use response_parser::Format;
///
/// assert_eq!("qwen3-coder".parse::<Format>()?, Format::Qwen3Coder);
/// assert_eq!(Format::Qwen3Coder.to_string(), "qwen3-coder");
/// let error = "qwen".parse::<Format>().unwrap_err();
/// assert!(error.to_string().starts_with("there is no format \"qwen\"; there are hermes, "));
/// # Ok::<(), response_parser::Error>(())
/// ```
///
/// # Errors
///
/// [`ErrorKind::UnknownFormat`], with all names.
impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Format, Error> {
        Format::by_name(name).ok_or_else(|| {
            let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
            let message = format!(
                "there is no format {name:?}; there are {}",
                names.join(", ")
            );
            Error::bare(ErrorKind::UnknownFormat, message)
        })
    }
}

/// As its name.
impl serde::Serialize for Format {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// By its name.
impl<'de> serde::Deserialize<'de> for Format {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Format, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}
