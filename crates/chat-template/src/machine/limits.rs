//! The limits of rendering a template.
//!
//! For example, `{% for n in range(9999) %}{% endfor %}` takes 10,000 instructions.

/// The limits of what rendering one chat may cost. Reaching a limit is an error of the kind
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit).
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
