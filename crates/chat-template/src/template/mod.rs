//! A template of a chat, read once and rendered often.

mod lexer;
mod syntax;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use minijinja::{Environment, Value};

pub(crate) use self::lexer::is_space;
use super::python::text::str;
use super::python::time::Moment;
use super::python::{self, LimitReached, Raised, Render, value};
use crate::{Error, ErrorKind};

/// What rendering one chat may cost. Reaching a limit is an error of the kind
/// [`ErrorKind::Limit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the template's source.
    pub source: usize,
    /// Instructions of the machine that runs it.
    pub instructions: u64,
    /// Bytes of text, and 32 for each item of a list, that operators, filters
    /// and methods may make in all; an eighth of it for what they only read.
    pub work: u64,
    /// Bytes of the rendered text, and of all that is printed on the way: what
    /// blocks and macros capture counts too, as often as it is printed.
    pub output: usize,
}

impl Default for Limits {
    /// 1 MiB of source, 15,000,000 instructions (about a second), 192 MiB of
    /// work, 64 MiB of output.
    fn default() -> Self {
        Self {
            source: 1 << 20,
            instructions: 15_000_000,
            work: 192 << 20,
            output: 64 << 20,
        }
    }
}

/// A chat template, read.
///
/// Templates are code of whoever made the model: they run in a sandbox without
/// files, clocks other than [`strftime_now`](Moment), or unbounded work.
pub struct ChatTemplate {
    env: Environment<'static>,
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

/// The name that the template has in its environment.
const NAME: &str = "chat";

/// What came of a template alone.
pub(super) struct Printed {
    pub(super) text: String,
    /// The bodies of generation blocks: where the reference says that each
    /// begins, in code points, and the text.
    pub(super) generated: Vec<(usize, String)>,
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
        let syntax = |line: usize, message: String| {
            let text = format!("line {line} of the chat template: {message}");
            Error::new(ErrorKind::Syntax, text).at_line(Some(line))
        };
        let translated = syntax::translate(source).map_err(|e| syntax(e.line, e.message))?;
        let mut env = Environment::empty();
        env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        env.set_fuel(Some(limits.instructions));
        env.set_formatter(|out, state, printed| {
            let render = python::render_of(state);
            if let Some(text) = printed.as_str() {
                if let Some(render) = render {
                    render.print(text.len())?;
                }
                return Ok(out.write_str(text)?);
            }
            if let Some(render) = &render {
                render.charge(value::weight(printed) as u64 * 4)?;
            }
            let text = str(printed);
            if let Some(render) = render {
                render.print(text.len())?;
            }
            Ok(out.write_str(&text)?)
        });
        python::install(&mut env);
        env.add_template_owned(NAME, translated).map_err(|error| {
            let line = error.line().unwrap_or(1);
            let detail = error.detail().unwrap_or("it cannot be read").to_owned();
            syntax(line, detail)
        })?;
        Ok(Self {
            env,
            source: source.to_owned(),
            limits,
        })
    }

    /// The source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Runs the template.
    pub(super) fn print(
        &self,
        mut variables: BTreeMap<String, Value>,
        now: Option<Moment>,
    ) -> Result<Printed, Error> {
        let render = Arc::new(Render::new(self.limits.work, self.limits.output, now));
        variables.retain(|name, _| !name.starts_with(syntax::OWN));
        variables.insert(
            python::RENDER.to_owned(),
            Value::from_dyn_object(render.clone()),
        );
        let mut writer = Writer {
            text: Vec::new(),
            limit: self.limits.output,
            full: false,
            render: render.clone(),
        };
        let template = self
            .env
            .get_template(NAME)
            .map_err(|e| self.failed(e, &writer))?;
        let context = Value::from_pairs(variables);
        let rendered = template.render_captured_to(context, &mut writer);
        let rendered = rendered.map(|_| ());
        rendered.map_err(|error| self.failed(error, &writer))?;
        let mut generated = render
            .generated
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(Printed {
            text: String::from_utf8_lossy(&writer.text).into_owned(),
            generated: std::mem::take(&mut *generated),
        })
    }

    #[cold]
    fn failed(&self, error: minijinja::Error, writer: &Writer) -> Error {
        let line = error.line();
        let place = match line {
            Some(line) => format!("line {line} of the chat template"),
            None => "the chat template".to_owned(),
        };
        if writer.full {
            let text = format!("{place}: more than {} bytes of output", self.limits.output);
            return Error::new(ErrorKind::Limit, text).at_line(line);
        }
        let mut kind = match error.kind() {
            minijinja::ErrorKind::OutOfFuel => ErrorKind::Limit,
            _ => ErrorKind::Failed,
        };
        let mut detail = error.detail().map(str::to_owned);
        let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(cause) = source {
            if let Some(raised) = cause.downcast_ref::<Raised>() {
                let text = format!("{place} refuses the chat: {}", raised.0);
                let error = Error::new(ErrorKind::Raised, text).at_line(line);
                return error.saying(raised.0.clone());
            }
            if cause.is::<LimitReached>() {
                kind = ErrorKind::Limit;
            }
            if let Some(inner) = cause.downcast_ref::<minijinja::Error>() {
                detail = inner.detail().map(str::to_owned).or(detail);
            }
            source = cause.source();
        }
        if kind == ErrorKind::Limit && error.kind() == minijinja::ErrorKind::OutOfFuel {
            detail = Some(format!(
                "more than {} instructions; does it ever end?",
                self.limits.instructions
            ));
        }
        if detail.as_deref() == Some("recursion limit exceeded") {
            kind = ErrorKind::Limit;
            detail = Some("macros or loops call each other too deep".to_owned());
        }
        let detail = detail.unwrap_or_else(|| error.to_string());
        Error::with_source(kind, format!("{place}: {detail}"), error).at_line(line)
    }
}

/// Takes what is printed and counts it.
struct Writer {
    text: Vec<u8>,
    limit: usize,
    full: bool,
    render: Arc<Render>,
}

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len() + bytes.len() > self.limit {
            self.full = true;
            return Err(io::Error::other("the output is too long"));
        }
        // Continuation bytes begin no code point.
        let points = bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        self.render.printed.fetch_add(points, Ordering::Relaxed);
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
