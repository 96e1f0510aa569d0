//! The short way: a model that answers with a value. For example,
//! `model.generate_json::<Person>("Ada, 36")` gives a `Person`.

use std::path::Path;
use std::sync::Arc;

use fsm_index::{Config, Fill, Guide, Index, IndexConfig};
use schema_regex::Options;
use schema_regex::automaton::SchemaAutomaton;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::chat::chatml;
use crate::constraint::Constraint;
use crate::generate::{Flow, Generation, Prompt, Request, Session};
use crate::model::{self, LoadOptions, LoadedModel};
use crate::sampling::SamplingConfig;
use crate::{Error, ErrorKind, tools};

/// A model that answers prompts: with a value of a Rust type, a value of a JSON Schema, a
/// text that matches a regular expression, or as it likes.
///
/// ```
/// use serde::Deserialize;
/// use tokenmold::prelude::*;
///
/// #[derive(Deserialize, JsonSchema)]
/// #[schemars(crate = "tokenmold::schemars")]
/// struct Person {
///     name: String,
///     #[schemars(range(max = 120))]
///     age: u8,
/// }
///
/// // `Model::open("folder or file.gguf")` takes real ones.
/// let mut model = Model::embedded()?;
/// let person: Person = model.generate_json("Note about Vera Hale, is 41 years old.")?;
/// assert_eq!((person.name.as_str(), person.age), ("Vera Hale", 41));
///
/// assert!(["yes", "no"].contains(&model.generate_matching("yes|no", "Is it so?")?.as_str()));
/// # Ok::<(), tokenmold::Error>(())
/// ```
///
/// Answers under a type, a schema or an expression are whole: they are made to end within
/// [`Model::with_max_tokens`], or refused before the model is asked. Each call compiles what
/// binds it, which takes microseconds to milliseconds; a program that asks often with the
/// same schema keeps an [`Index`] and uses a [`Session`].
#[derive(Debug)]
pub struct Model {
    loaded: LoadedModel,
    options: Options,
    max_tokens: usize,
    sampling: SamplingConfig,
    system: Option<String>,
}

/// The most tokens of an answer, unless the caller says otherwise: a page of text, because a model
/// without an end would answer until its context is full.
const MAX_TOKENS: usize = 512;

impl Model {
    /// Opens a model: a folder as Hugging Face lays it out, or a GGUF file.
    ///
    /// # Errors
    ///
    /// As [`model::load`].
    ///
    /// ```
    /// use tokenmold::Model;
    ///
    /// let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/model");
    /// let mut model = Model::open(folder)?.with_max_tokens(8);
    /// assert!(!model.generate_matching("(yes|no)", "Is it so?")?.is_empty());
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, LoadOptions::default())
    }

    /// [`Model::open`] with options: on another device, in other floats.
    ///
    /// # Errors
    ///
    /// As [`model::load`].
    pub fn open_with(path: impl AsRef<Path>, options: LoadOptions) -> Result<Self, Error> {
        Ok(model::load_with(path, options)?.into())
    }

    /// The tiny model inside the library.
    ///
    /// # Errors
    ///
    /// As [`crate::model::embedded::load`].
    #[cfg(feature = "embedded")]
    pub fn embedded() -> Result<Self, Error> {
        Ok(crate::model::embedded::load()?.into())
    }

    /// The same with another most number of tokens of an answer; 512 unless told.
    #[must_use]
    pub fn with_max_tokens(mut self, max_tokens: usize) -> Self {
        self.max_tokens = max_tokens;
        self
    }

    /// The same with another way of choosing tokens; the most probable one unless told.
    ///
    /// ```
    /// use tokenmold::Model;
    /// use tokenmold::sampling::SamplingConfig;
    ///
    /// let sampling = SamplingConfig::with_temperature(0.8, 7);
    /// let mut model = Model::embedded()?.with_sampling(sampling);
    /// let drawn = model.generate_matching("[a-z]{4}", "A word.")?;
    /// assert_eq!(model.generate_matching("[a-z]{4}", "A word.")?, drawn);
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    #[must_use]
    pub fn with_sampling(mut self, sampling: SamplingConfig) -> Self {
        self.sampling = sampling;
        self
    }

    /// The same with other options for schemas; [`Options::for_generation`] unless told.
    #[must_use]
    pub fn with_options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// The same with something that the model is told before each prompt, in place of the
    /// schema.
    #[must_use]
    pub fn with_system(mut self, system: impl Into<String>) -> Self {
        self.system = Some(system.into());
        self
    }

    /// Returns the loaded model, for work that this type does not do.
    pub fn loaded_mut(&mut self) -> &mut LoadedModel {
        &mut self.loaded
    }

    /// Answers with a value of a type, whose schema is derived. Objects have the members of
    /// the type and no others, unless the options say otherwise.
    ///
    /// # Errors
    ///
    /// The schema is refused ([`ErrorKind::Constraint`], with the keyword and its place), or
    /// the value is of the schema and not of the type ([`ErrorKind::Answer`]); otherwise as
    /// [`Session::generate`].
    ///
    /// ```
    /// use serde::Deserialize;
    /// use tokenmold::prelude::*;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// #[schemars(crate = "tokenmold::schemars")]
    /// struct Order {
    ///     #[schemars(range(min = 1, max = 99))]
    ///     quantity: u8,
    ///     paid: bool,
    /// }
    ///
    /// let order: Order = Model::embedded()?.generate_json("7 pieces, not paid yet.")?;
    /// assert!(order.quantity > 0 && !order.paid);
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    pub fn generate_json<T: DeserializeOwned + JsonSchema>(
        &mut self,
        prompt: &str,
    ) -> Result<T, Error> {
        let schema = tools::schema_of::<T>();
        let value = self.generate_value(&schema, prompt)?;
        serde_json::from_value(value).map_err(|error| {
            let message = format!("the answer is not of the type: {error}");
            Error::with_source(ErrorKind::Answer, message, error)
        })
    }

    /// Answers with a value of a JSON Schema. Objects have no members of which the schema
    /// says nothing, unless the options say otherwise.
    ///
    /// # Errors
    ///
    /// The schema is refused ([`ErrorKind::Constraint`], with the keyword and its place);
    /// otherwise as [`Session::generate`].
    ///
    /// ```
    /// use serde_json::json;
    /// use tokenmold::Model;
    ///
    /// let schema = json!({"type": "object", "properties": {"unit": {"enum": ["metres", "miles"]}},
    ///     "required": ["unit"], "additionalProperties": false});
    /// let value = Model::embedded()?.generate_value(&schema, "Please convert to metres.")?;
    /// assert!(["metres", "miles"].contains(&value["unit"].as_str().unwrap()));
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    pub fn generate_value(&mut self, schema: &Value, prompt: &str) -> Result<Value, Error> {
        let automaton = SchemaAutomaton::new(schema, &self.options).map_err(|error| {
            let message = format!("the schema: {error}");
            Error::with_source(ErrorKind::Constraint, message, error)
        })?;
        let lazy = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index = Index::lazy(automaton, self.loaded.tokenizer.vocabulary(), &lazy)?;
        let mut guide = Guide::new(Arc::new(index));
        let told = chatml::schema_system(schema);
        let said = self.generate(prompt, Some(&told), Some(&mut guide))?;
        serde_json::from_str(&said.text).map_err(|error| {
            let message = format!("the answer is no JSON: {error}");
            Error::with_source(ErrorKind::Answer, message, error)
        })
    }

    /// Answers with a text that matches a regular expression as a whole.
    ///
    /// # Errors
    ///
    /// The expression is refused ([`ErrorKind::Constraint`]); otherwise as
    /// [`Session::generate`].
    ///
    /// ```
    /// use tokenmold::Model;
    ///
    /// let answer = Model::embedded()?.generate_matching("[0-9]{4}-[0-9]{2}", "March 2027")?;
    /// assert_eq!(answer.len(), 7);
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    pub fn generate_matching(&mut self, regex: &str, prompt: &str) -> Result<String, Error> {
        let lazy = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let vocabulary = self.loaded.tokenizer.vocabulary();
        let index = Index::with_config(regex, vocabulary, &Config::default(), &lazy)?;
        let mut guide = Guide::new(Arc::new(index));
        Ok(self.generate(prompt, None, Some(&mut guide))?.text)
    }

    /// Answers as the model likes, with the most number of tokens at most.
    ///
    /// # Errors
    ///
    /// As [`Session::generate`].
    pub fn generate_text(&mut self, prompt: &str) -> Result<String, Error> {
        Ok(self.generate(prompt, None, None)?.text)
    }

    fn generate(
        &mut self,
        prompt: &str,
        told: Option<&str>,
        constraint: Option<&mut dyn Constraint>,
    ) -> Result<Generation, Error> {
        let LoadedModel {
            model,
            tokenizer,
            chat,
        } = &mut self.loaded;
        let prompt = match chat.is_empty() {
            true => Prompt::Text(prompt.to_owned()),
            false => {
                let system = self.system.as_deref().or(told);
                let turns = [json!({"role": "user", "content": prompt})];
                Prompt::Chat(chat.prompt(system, &[], &turns)?)
            }
        };
        let request = Request::new(prompt)
            .with_max_tokens(self.max_tokens)
            .with_sampling(self.sampling.clone());
        let mut session = Session::new(model, tokenizer);
        session.generate(&request, constraint, &mut |_| Flow::Continue)
    }
}

impl From<LoadedModel> for Model {
    fn from(loaded: LoadedModel) -> Self {
        Self {
            loaded,
            options: Options::for_generation(),
            max_tokens: MAX_TOKENS,
            sampling: SamplingConfig::greedy(),
            system: None,
        }
    }
}
