//! The settings of a server. For example, `ServeConfig::default().with_lanes(8)`.

use std::time::Duration;

use schema_regex::{Options, ParseOptions};

/// The settings of a server.
///
/// ```
/// use tokenmold::serve::ServeConfig;
///
/// let config = ServeConfig::default().with_lanes(2).with_api_key("secret");
/// assert_eq!((config.lanes, config.max_queue), (2, 64));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServeConfig {
    /// The name of the model, by which requests may ask for it.
    pub model_name: String,
    /// The number of texts that are generated side by side. Each takes memory for what it remembers.
    pub lanes: usize,
    /// The most texts that wait for a lane. A request beyond them is refused with 429.
    pub max_queue: usize,
    /// The most bytes of a request's body; 413 beyond.
    pub max_body: usize,
    /// The most tokens of an answer whose request does not say.
    pub max_tokens: usize,
    /// The most bytes of compiled constraints that are kept, about.
    pub max_compiled: usize,
    /// The longest that a request may take, its waiting and its answer: 503 beyond.
    pub timeout: Duration,
    /// The key that requests must have as `Authorization: Bearer KEY`; none for no key.
    pub api_key: Option<String>,
    /// True if pages of other sites may send requests.
    pub cors: bool,
    /// True if a schema is shown to the model, in the system's turn, besides binding its answer.
    pub schema_in_prompt: bool,
    /// The options by which schemas are compiled.
    pub options: Options,
    /// The options by which schemas are read.
    pub reading: ParseOptions,
    /// The limits of what grammars and structural tags may cost, by name: those that
    /// [`constraint::TagOptions::limit_names`] knows. Others have no effect.
    pub limits: Vec<(String, usize)>,
}

impl Default for ServeConfig {
    /// Four lanes, a queue of 64 texts, bodies of 4 MiB, answers of 1,024 tokens, 256 MiB of
    /// constraints, five minutes, no key, no other sites, schemas shown.
    fn default() -> Self {
        ServeConfig {
            model_name: "tokenmold".to_owned(),
            lanes: 4,
            max_queue: 64,
            max_body: 4 << 20,
            max_tokens: 1_024,
            max_compiled: 256 << 20,
            timeout: Duration::from_secs(300),
            api_key: None,
            cors: false,
            schema_in_prompt: true,
            options: Options::for_generation(),
            reading: ParseOptions::default(),
            limits: Vec::new(),
        }
    }
}

impl ServeConfig {
    /// The same with another name of the model.
    #[must_use]
    pub fn with_model_name(mut self, name: impl Into<String>) -> Self {
        self.model_name = name.into();
        self
    }

    /// The same with so many texts side by side.
    #[must_use]
    pub fn with_lanes(mut self, lanes: usize) -> Self {
        self.lanes = lanes;
        self
    }

    /// The same with so many texts that may wait.
    #[must_use]
    pub fn with_max_queue(mut self, texts: usize) -> Self {
        self.max_queue = texts;
        self
    }

    /// The same with a key that requests must have.
    #[must_use]
    pub fn with_api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// The same with another limit to the time of a request.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}
