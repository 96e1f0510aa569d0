//! A template of a chat, read once and rendered often. For example, `{% for m in messages %}{{
//! m.content }}{% endfor %}` prints the contents of all messages.

mod apply;
mod files;

use std::fmt;

use crate::machine::{self, Limits, Printed};
use crate::python::filters::{self, tests};
use crate::python::time::Moment;
use crate::python::value::Value;
use crate::python::{Fault, FaultKind};
use crate::syntax::{self, tree::Tree};
use crate::{Error, ErrorKind};

pub use self::apply::{Chat, Ending, Rendered};
pub use self::files::ChatTemplates;

/// A chat template, read.
///
/// Templates are code of whoever made the model: they run in a sandbox without
/// files, clocks other than [`strftime_now`](Moment), or unbounded work.
pub struct ChatTemplate {
    tree: Tree,
    source: String,
    limits: Limits,
}

/// The filters and tests that there are. They are handed over, so that the parser needs to know
/// none of them.
const KNOWN: syntax::Known = syntax::Known {
    filter: filters::exists,
    test: tests::exists,
};

impl fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatTemplate")
            .field("source", &self.source)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl ChatTemplate {
    /// Reads a template, with the default limits.
    ///
    /// O(source).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Syntax`] with the line, [`ErrorKind::Limit`].
    pub fn new(source: &str) -> Result<Self, Error> {
        Self::with_limits(source, Limits::default())
    }

    /// Reads a template, with limits.
    ///
    /// # Errors
    ///
    /// As of [`ChatTemplate::new`].
    pub fn with_limits(source: &str, limits: Limits) -> Result<Self, Error> {
        if source.len() > limits.source {
            return Err(Error::new(
                ErrorKind::Limit,
                format!(
                    "the chat template has {} bytes; the limit is {}",
                    source.len(),
                    limits.source
                ),
            ));
        }
        let tree = syntax::parse(source, KNOWN).map_err(|error| {
            let text = format!(
                "line {} of the chat template: {}",
                error.line, error.message
            );
            Error::new(ErrorKind::Syntax, text).at_line(Some(error.line))
        })?;
        Ok(Self {
            tree,
            source: source.to_owned(),
            limits,
        })
    }

    /// The source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Tells whether the template has that name somewhere: as a variable that a chat may bring, or
    /// as one of its own. O(names).
    ///
    /// ```
    /// use chat_template::ChatTemplate;
    ///
    /// let template = ChatTemplate::new("{% if enable_thinking %}{{ messages[0].content }}{% endif %}")?;
    /// assert!(template.mentions("enable_thinking"));
    /// assert!(!template.mentions("enable_thinkng") && !template.mentions("content"));
    /// # Ok::<(), chat_template::Error>(())
    /// ```
    pub fn mentions(&self, name: &str) -> bool {
        self.tree.names.iter().any(|known| &**known == name)
    }

    /// Runs the template.
    pub(crate) fn print(
        &self,
        variables: Vec<(String, Value)>,
        now: Option<Moment>,
    ) -> Result<Printed, Error> {
        machine::run(&self.tree, variables, self.limits, now).map_err(failed)
    }
}

#[cold]
fn failed(fault: Fault) -> Error {
    let place = match fault.line {
        Some(line) => format!("line {line} of the chat template"),
        None => "the chat template".to_owned(),
    };
    let message = fault.message;
    match fault.kind {
        FaultKind::Raised => {
            let text = format!("{place} refuses the chat: {message}");
            Error::new(ErrorKind::Raised, text).saying(message)
        }
        FaultKind::Limit => Error::new(ErrorKind::Limit, format!("{place}: {message}")),
        FaultKind::Failed => Error::new(ErrorKind::Failed, format!("{place}: {message}")),
    }
    .at_line(fault.line)
}
