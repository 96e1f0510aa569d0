//! A template of a chat, read once and rendered often.

use std::fmt;

use crate::machine::{self, Printed};
use crate::python::value::Value;
use crate::python::{Fault, FaultKind};
use crate::syntax::{self, tree::Tree};
use crate::time::Moment;
use crate::{Error, ErrorKind};

/// What rendering one chat may cost. Reaching a limit is an error of the kind
/// [`ErrorKind::Limit`].
///
/// ```
/// use chat_template::{Chat, ChatTemplate, ErrorKind, Limits};
/// use serde_json::json;
///
/// let limits = Limits::default().with_instructions(1_000);
/// let template = ChatTemplate::with_limits("{% for n in range(9999) %}{% endfor %}", limits)?;
/// let messages = [json!({"role": "user", "content": ""})];
/// assert_eq!(template.render(&Chat::new(&messages)).unwrap_err().kind(), ErrorKind::Limit);
/// # Ok::<(), chat_template::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the template's source.
    pub source: usize,
    /// Instructions of the machine that runs it: one for each tag, each item of a loop and
    /// each part of an expression, as often as it is run.
    pub instructions: u64,
    /// Bytes of text, and 32 for each item of a list, that operators, filters
    /// and methods may make in all; an eighth of it for what they only read.
    pub work: u64,
    /// Bytes of the rendered text, and of all that is printed on the way: what
    /// blocks and macros capture counts too, as often as it is printed.
    pub output: usize,
}

impl Limits {
    /// The same, with this most bytes of the source.
    #[must_use]
    pub fn with_source(mut self, bytes: usize) -> Self {
        self.source = bytes;
        self
    }

    /// The same, with this most tags, items of loops and parts of expressions that are run.
    #[must_use]
    pub fn with_instructions(mut self, instructions: u64) -> Self {
        self.instructions = instructions;
        self
    }

    /// The same, with this most work of operators, filters and methods, in bytes.
    #[must_use]
    pub fn with_work(mut self, bytes: u64) -> Self {
        self.work = bytes;
        self
    }

    /// The same, with this most bytes that are printed.
    #[must_use]
    pub fn with_output(mut self, bytes: usize) -> Self {
        self.output = bytes;
        self
    }
}

impl Default for Limits {
    /// 1 MiB of source, 12,000,000 instructions (less than a second), 144 MiB of
    /// work, 64 MiB of output.
    fn default() -> Self {
        Self {
            source: 1 << 20,
            instructions: 12_000_000,
            work: 144 << 20,
            output: 64 << 20,
        }
    }
}

/// A chat template, read.
///
/// Templates are code of whoever made the model: they run in a sandbox without
/// files, clocks other than [`strftime_now`](Moment), or unbounded work.
pub struct ChatTemplate {
    tree: Tree,
    source: String,
    limits: Limits,
}

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
        let tree = syntax::parse(source).map_err(|error| {
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

    /// Whether the template has that name somewhere: as a variable that a chat may bring, or as
    /// one of its own. O(names).
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
