//! The view of an automaton for people: the table, Graphviz, and traces. For example, the trace of
//! `A4` through `A[0-9]+` has a step for `A` and one for `4`.

use std::fmt::{self, Write as _};

use super::{Dfa, Symbols};

/// The longest list of ranges that a class label shows: the rest is dots, because a table's column
/// must stay narrow.
const LABEL_RANGES: usize = 6;

impl Dfa {
    /// The transition table: a line a state with `>` at the start state, `*`
    /// at final states, and the next state for each class of symbols (`.`
    /// where no text goes on).
    ///
    /// ```
    /// use fsm_index::Dfa;
    ///
    /// let table = Dfa::new("A[0-9]+")?.table();
    /// assert!(table.contains("[0-9]"));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn table(&self) -> String {
        let labels = self.alphabet.labels(LABEL_RANGES);
        let anything_else = self.alphabet.anything_else();
        let mut classes: Vec<usize> = (0..labels.len())
            .filter(|&c| c != anything_else && !labels[c].is_empty())
            .collect();
        classes.push(anything_else);
        let mut rows = vec![vec!["state".to_owned(), "final".to_owned()]];
        rows[0].extend(classes.iter().map(|&c| labels[c].clone()));
        for state in 0..self.state_count() {
            let mark = if state == self.start() { "> " } else { "  " };
            let mut row = vec![format!("{mark}{state}")];
            row.push(if self.is_accepting(state) { "*" } else { "" }.to_owned());
            row.extend(classes.iter().map(|&class| match self.next(state, class) {
                Some(next) => next.to_string(),
                None => ".".to_owned(),
            }));
            rows.push(row);
        }
        let widths: Vec<usize> = (0..rows[0].len())
            .map(|i| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0))
            .collect();
        let mut text = String::new();
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let _ = write!(line, "{cell:width$}  ");
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    /// The automaton as a Graphviz graph, to be drawn with `dot -Tsvg`.
    ///
    /// ```
    /// use fsm_index::Dfa;
    ///
    /// assert!(Dfa::new("a|b")?.dot().starts_with("digraph"));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn dot(&self) -> String {
        let labels = self.alphabet.labels(LABEL_RANGES);
        let mut text = String::from(
            "digraph dfa {\n  rankdir=LR;\n  node [shape=circle];\n  start [shape=point];\n",
        );
        for state in (0..self.state_count()).filter(|&s| self.is_accepting(s)) {
            let _ = writeln!(text, "  {state} [shape=doublecircle];");
        }
        let _ = writeln!(text, "  start -> {};", self.start());
        for state in 0..self.state_count() {
            let mut edges: Vec<(usize, Vec<&str>)> = Vec::new();
            for (class, label) in labels.iter().enumerate() {
                let Some(next) = self.next(state, class) else {
                    continue;
                };
                match edges.iter_mut().find(|e| e.0 == next) {
                    Some(edge) => edge.1.push(label),
                    None => edges.push((next, vec![label])),
                }
            }
            for (next, labels) in edges {
                let shown = labels.len().min(12);
                let mut label = labels[..shown].join(" ");
                if shown < labels.len() {
                    let _ = write!(label, " .. ({} classes)", labels.len());
                }
                let label = label.replace('\\', "\\\\").replace('"', "\\\"");
                let _ = writeln!(text, "  {state} -> {next} [label=\"{label}\"];");
            }
        }
        text += "}\n";
        text
    }

    /// Runs `text` through the automaton, one step a symbol, as far as it goes.
    ///
    /// For [`Symbols::Chars`], a byte that is not part of UTF-8 text stops it.
    ///
    /// ```
    /// use fsm_index::Dfa;
    ///
    /// let trace = Dfa::new("A[0-9]+")?.trace("A4x");
    /// assert!(!trace.accepted);
    /// assert_eq!((trace.steps.len(), trace.stopped_at), (3, Some(2)));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn trace(&self, text: impl AsRef<[u8]>) -> Trace {
        let text = text.as_ref();
        let labels = self.alphabet.labels(LABEL_RANGES);
        let anything_else = self.alphabet.anything_else();
        let mut state = self.start();
        let mut steps = Vec::new();
        let mut stopped_at = None;
        let mut offset = 0;
        while offset < text.len() {
            let (symbol, len) = match self.alphabet.symbols() {
                Symbols::Bytes => (Some(u32::from(text[offset])), 1),
                Symbols::Chars => match next_char(&text[offset..]) {
                    Some(c) => (Some(c as u32), c.len_utf8()),
                    None => (None, 1),
                },
            };
            let class = symbol.map_or(anything_else, |s| self.alphabet.class_of(s));
            let to = symbol.and_then(|_| self.next(state, class));
            steps.push(Step {
                offset,
                symbol: match symbol {
                    Some(symbol) => self.alphabet.symbol(symbol),
                    None => format!("\\x{:02X}", text[offset]),
                },
                class: labels[class].clone(),
                anything_else: class == anything_else,
                from: state,
                to,
            });
            match to {
                Some(next) => state = next,
                None => {
                    stopped_at = Some(offset);
                    break;
                }
            }
            offset += len;
        }
        Trace {
            accepted: stopped_at.is_none() && self.is_accepting(state),
            steps,
            state,
            stopped_at,
        }
    }
}

fn next_char(bytes: &[u8]) -> Option<char> {
    let head = &bytes[..bytes.len().min(4)];
    match std::str::from_utf8(head) {
        Ok(text) => text.chars().next(),
        Err(e) => {
            let valid = std::str::from_utf8(&head[..e.valid_up_to()]).ok()?;
            valid.chars().next()
        }
    }
}

/// The steps of an automaton through a text, symbol by symbol. Its `Display` is a line a step and a
/// last line that says how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The steps taken; the last one has no target if the text was refused.
    pub steps: Vec<Step>,
    /// The last state reached.
    pub state: usize,
    /// True if the whole text is in the language.
    pub accepted: bool,
    /// The byte offset of the symbol that could not be taken, if one could not.
    pub stopped_at: Option<usize>,
}

/// One symbol of a [`Trace`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The start of the symbol in the text, in bytes.
    pub offset: usize,
    /// The symbol, printable.
    pub symbol: String,
    /// The class it falls into.
    pub class: String,
    /// True if that class is "anything else".
    pub anything_else: bool,
    /// The state before it.
    pub from: usize,
    /// The state after it, if any accepted text goes on so.
    pub to: Option<usize>,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> ", self.symbol, self.from)?;
        match self.to {
            Some(to) => write!(f, "{to}")?,
            None => f.write_str("stop")?,
        }
        if self.anything_else {
            f.write_str("  (anything else)")?;
        } else if self.class != self.symbol {
            write!(f, "  ({})", self.class)?;
        }
        Ok(())
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "{step}")?;
        }
        match (self.stopped_at, self.accepted) {
            (Some(at), _) => write!(f, "refused at byte {at}, in state {}", self.state),
            (None, true) => write!(f, "accepted in state {}", self.state),
            (None, false) => write!(
                f,
                "incomplete: state {} is not final, more must follow",
                self.state
            ),
        }
    }
}
