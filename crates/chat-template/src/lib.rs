#![doc = include_str!("../README.md")]

mod apply;
pub mod chatml;
mod control;
mod error;
pub mod exact;
mod files;
mod machine;
mod python;
mod syntax;
mod template;
mod time;

pub use self::apply::{Chat, Ending, Rendered};
pub use self::control::{ControlTokens, Handling};
pub use self::error::{Error, ErrorKind};
pub use self::exact::Numbers;
pub use self::files::ChatTemplates;
pub use self::template::{ChatTemplate, Limits};
pub use self::time::Moment;
