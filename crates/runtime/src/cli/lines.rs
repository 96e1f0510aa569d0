//! The lines of a chat, and how an answer is stopped. For example, Ctrl-C stops an answer that is
//! being written, and ends the program at an empty line.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use super::{Failure, say};

/// A line that was read.
pub(crate) enum Line {
    Text(String),
    /// Ctrl-C: what was typed is thrown away.
    Dropped,
    /// There are no more.
    End,
}

/// The source of lines.
pub(crate) enum Lines {
    /// A person, who edits them and goes back to earlier ones.
    Edited(Box<Edited>),
    /// A file or a pipe.
    Plain,
}

pub(crate) struct Edited {
    editor: Editor<(), FileHistory>,
    history: Option<PathBuf>,
}

/// The number of lines that are remembered, because the file of them is read at each start.
const REMEMBERED: usize = 1_000;

impl Lines {
    /// Lines from standard input; edited if it is a terminal. `history` is the file in
    /// which they are kept from one chat to the next.
    ///
    /// # Errors
    ///
    /// The terminal cannot be used, or the file cannot be read.
    pub(crate) fn open(history: Option<&Path>) -> Result<Lines, Failure> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Ok(Lines::Plain);
        }
        let fail = |error: ReadlineError| Failure::of("the terminal", error);
        let config = Config::builder()
            .max_history_size(REMEMBERED)
            .and_then(|config| config.history_ignore_dups(true))
            .map_err(fail)?
            .auto_add_history(true)
            .build();
        let mut editor: Editor<(), FileHistory> = Editor::with_config(config).map_err(fail)?;
        if let Some(file) = history.filter(|file| file.exists()) {
            editor
                .load_history(file)
                .map_err(|e| Failure::of(file.display(), e))?;
        }
        Ok(Lines::Edited(Box::new(Edited {
            editor,
            history: history.map(Path::to_owned),
        })))
    }

    pub(crate) fn is_edited(&self) -> bool {
        matches!(self, Lines::Edited(_))
    }

    /// The next line, behind `prompt` where somebody types it.
    pub(crate) fn next(&mut self, prompt: &str) -> Result<Line, Failure> {
        let Lines::Edited(edited) = self else {
            let mut line = String::new();
            let read = io::stdin().lock().read_line(&mut line);
            return match read.map_err(|e| Failure::of("standard input", e))? {
                0 => Ok(Line::End),
                _ => Ok(Line::Text(line)),
            };
        };
        match edited.editor.readline(prompt) {
            Ok(line) => Ok(Line::Text(line)),
            Err(ReadlineError::Interrupted) => Ok(Line::Dropped),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(Failure::of("the terminal", error)),
        }
    }

    /// Keeps the lines for the next chat.
    pub(crate) fn close(self) {
        if let Lines::Edited(mut edited) = self
            && let Some(file) = &edited.history
            && let Err(error) = edited.editor.save_history(file)
        {
            say(&format!("note: {}: {error}\n", file.display()));
        }
    }
}

/// Ctrl-C: it stops an answer, and ends the program where there is none.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicU8>);

/// There is no answer to stop. It is zero because that is the default of an atomic number.
const IDLE: u8 = 0;
/// An answer is written, so that Ctrl-C stops it.
const ANSWERING: u8 = 1;
/// The answer is to stop; a second Ctrl-C ends the program, since the first was not noticed.
const STOPPED: u8 = 2;

impl Interrupt {
    /// Listens from now on. A second Ctrl-C before the first was noticed ends the
    /// program too, for a model that takes long over one step.
    ///
    /// # Errors
    ///
    /// The system does not let a program listen.
    pub(crate) fn listen() -> Result<Interrupt, Failure> {
        let interrupt = Interrupt::default();
        let state = interrupt.0.clone();
        ctrlc::set_handler(move || {
            let order = Ordering::SeqCst;
            let stopped = state.compare_exchange(ANSWERING, STOPPED, order, order);
            if stopped.is_err() {
                // As a shell says that this signal ended a program.
                std::process::exit(130);
            }
        })
        .map_err(|e| Failure::of("Ctrl-C", e))?;
        Ok(interrupt)
    }

    /// An answer begins.
    pub(crate) fn begin(&self) {
        self.0.store(ANSWERING, Ordering::SeqCst);
    }

    /// Tells whether the answer is to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.0.load(Ordering::SeqCst) == STOPPED
    }

    /// The answer is over; says whether it was stopped.
    pub(crate) fn end(&self) -> bool {
        self.0.swap(IDLE, Ordering::SeqCst) == STOPPED
    }
}
