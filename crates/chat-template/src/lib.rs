#![doc = include_str!("../README.md")]

pub mod chatml;
mod control;
mod error;
mod machine;
mod python;
mod syntax;
mod template;

pub use self::control::{ControlTokens, Handling};
pub use self::error::{Error, ErrorKind};
pub use self::machine::Limits;
pub use self::python::exact::{self, Numbers};
pub use self::python::time::Moment;
pub use self::template::{Chat, ChatTemplate, ChatTemplates, Ending, Rendered};
