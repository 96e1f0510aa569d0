//! The names that most programs need, in one line: `use tokenmold::prelude::*`.
//!
//! Types that derive `JsonSchema` by way of it say where that is:
//! `#[schemars(crate = "tokenmold::schemars")]`.
//!
//! For example, [`Guide`], [`Family`] and [`Vocabulary`] are among them.

pub use fsm_index::{Fill, Guide, Index, IndexConfig, Landing, TokenId, TokenMask, Vocabulary};
pub use response_parser::{Family, PartialJson, ResponseSchema, ResponseTemplate, Turn};
pub use schema_regex::Options;
pub use schema_regex::automaton::SchemaAutomaton;

#[cfg(feature = "tools")]
pub use schemars::JsonSchema;

#[cfg(feature = "tools")]
pub use crate::agent::Agent;
#[cfg(all(feature = "models", feature = "tools"))]
pub use crate::agent::LocalModel;
#[cfg(feature = "chat")]
pub use crate::chat::{Chat, ChatTemplates, Ending};
#[cfg(all(feature = "models", feature = "tools"))]
pub use crate::generate::answers::Model;
#[cfg(feature = "models")]
pub use crate::generate::{Event, Flow, Generation, Prompt, Request, Session, TokenBudget};
#[cfg(feature = "models")]
pub use crate::model::LoadedModel;
#[cfg(feature = "models")]
pub use crate::sampling::SamplingConfig;
#[cfg(feature = "models")]
pub use crate::tags::{ResponseFormat, Tags};
#[cfg(feature = "tokenizers")]
pub use crate::tokenizer::{Surround, Tokenizer};
#[cfg(feature = "tools")]
pub use crate::tools::{Tool, Tools};
#[cfg(any(feature = "chat", feature = "tokenizers"))]
pub use crate::{Error, ErrorKind};
