use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::row::{Row, RowPool};
use crate::run_rows::RunRows;
use crate::walk::{Walker, finish};
use crate::{
    ByteAutomaton, ByteDfa, Cursor, DenseTable, Error, ErrorKind, TextRuns, TokenMask, Vocabulary,
};

/// When the rows of an [`Index`] are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fill {
    /// All of them when it is built, on every thread of the current rayon
    /// pool: for a constraint that many texts will use.
    #[default]
    Eager,
    /// Each when a guide first asks for it, once for all guides: for a
    /// constraint that may be used only once.
    Lazy,
}

/// How an [`Index`] is built, and within which limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexConfig {
    /// When rows are computed. Default: eagerly.
    pub fill: Fill,
    /// Whether rows may be put together from text runs. Default: where it pays.
    pub text_runs: TextRuns,
    /// Memory of all rows, in bytes. Default 1 GiB. Reaching it is an error
    /// for an eager index; a lazy one goes on without keeping more rows.
    pub max_row_bytes: usize,
}

impl Default for IndexConfig {
    fn default() -> Self {
        IndexConfig {
            fill: Fill::Eager,
            text_runs: TextRuns::Auto,
            max_row_bytes: 1 << 30,
        }
    }
}

/// An automaton joined with a vocabulary: for each state, the tokens that may
/// come next.
///
/// Immutable and shared: any number of [`Guide`](crate::Guide)s on any number
/// of threads borrow its rows. Equal rows are stored once.
///
/// ```
/// use std::sync::Arc;
/// use fsm_index::{Guide, Index, TokenId, Vocabulary};
///
/// let tokens = ["0", "1", "12", "x"].iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// let vocabulary = Vocabulary::new(tokens, [TokenId::new(4)])?;
/// let index = Arc::new(Index::new("[0-9]{1,2}", &vocabulary)?);
/// let mut guide = Guide::new(index);
/// assert_eq!(guide.allowed_tokens(), [0, 1, 2].map(TokenId::new));
/// guide.advance(TokenId::new(2))?;
/// assert_eq!(guide.allowed_tokens(), [TokenId::new(4)]);
/// # Ok::<(), fsm_index::Error>(())
/// ```
pub struct Index {
    automaton: ByteDfa,
    vocabulary: Vocabulary,
    config: IndexConfig,
    /// By the number of the state; the dead one's is never filled.
    rows: Box<[OnceLock<Arc<Row>>]>,
    pool: RowPool,
    run_rows: RunRows,
    /// Which states can still be finished with this vocabulary's tokens, if
    /// that is not all of them.
    spellable: Option<Box<[bool]>>,
}

/// What an [`Index`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexStats {
    /// States of the automaton.
    pub states: usize,
    /// Classes of bytes that the automaton tells apart.
    pub byte_classes: usize,
    /// Rows that are computed; equal ones counted once.
    pub rows: usize,
    /// Bytes of those rows.
    pub row_bytes: usize,
    /// Bytes of everything but the vocabulary, which indexes share.
    pub bytes: usize,
}

impl Index {
    /// Compiles `pattern` and builds its index eagerly.
    ///
    /// # Errors
    ///
    /// As [`Dfa::new`](crate::Dfa::new) and [`Index::build`].
    #[cfg(feature = "regex")]
    pub fn new(pattern: &str, vocabulary: &Vocabulary) -> Result<Index, Error> {
        Index::with_config(
            pattern,
            vocabulary,
            &crate::Config::default(),
            &IndexConfig::default(),
        )
    }

    /// Compiles `pattern` and builds its index.
    ///
    /// # Errors
    ///
    /// As [`Dfa::new`](crate::Dfa::new) and [`Index::build`].
    #[cfg(feature = "regex")]
    pub fn with_config(
        pattern: &str,
        vocabulary: &Vocabulary,
        config: &crate::Config,
        index_config: &IndexConfig,
    ) -> Result<Index, Error> {
        let dfa = crate::Dfa::with_config(pattern, config)?;
        Index::build(dfa.to_bytes(config)?, vocabulary, index_config)
    }

    /// Joins an automaton with a vocabulary. Eagerly: O(states x nodes of the
    /// vocabulary's trie that stay alive there).
    ///
    /// # Errors
    ///
    /// The vocabulary cannot spell any accepted text (the message names the
    /// bytes that are not tokens), or the rows of an eager index exceed
    /// `max_row_bytes`.
    pub fn build(
        automaton: ByteDfa,
        vocabulary: &Vocabulary,
        config: &IndexConfig,
    ) -> Result<Index, Error> {
        let mut index = Index::empty(automaton, vocabulary, config);
        index.settle_spelling()?;
        if config.fill == Fill::Eager {
            index.fill()?;
        }
        Ok(index)
    }

    /// The automaton.
    pub fn automaton(&self) -> &ByteDfa {
        &self.automaton
    }

    /// The vocabulary.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// What the index holds at the moment; for a lazy one this grows.
    pub fn stats(&self) -> IndexStats {
        let (rows, row_bytes) = self.pool.size();
        IndexStats {
            states: self.automaton.state_count(),
            byte_classes: self.automaton.class_count(),
            rows,
            row_bytes,
            bytes: row_bytes + size_of_val(self.rows.as_ref()) + self.automaton.memory(),
        }
    }

    /// The row of a state: from memory, or by a walk.
    pub(crate) fn row(&self, state: Cursor) -> Arc<Row> {
        let cell = &self.rows[self.automaton.number(state)];
        if let Some(row) = cell.get() {
            return row.clone();
        }
        let row = self.compute(state, &mut Walker::default());
        match self.pool.intern(row, self.config.max_row_bytes) {
            Ok(row) => cell.get_or_init(|| row).clone(),
            Err(row) => Arc::new(row),
        }
    }

    /// Whether a token whose bytes lead to `state` may be taken.
    pub(crate) fn is_spellable(&self, state: Cursor) -> bool {
        match &self.spellable {
            Some(spellable) => spellable[self.automaton.number(state)],
            None => true,
        }
    }

    pub(crate) fn from_saved(
        automaton: ByteDfa,
        vocabulary: &Vocabulary,
        rows: Vec<Row>,
        row_of: &[u32],
    ) -> Result<Index, Error> {
        let mut index = Index::empty(automaton, vocabulary, &IndexConfig::default());
        index.settle_spelling()?;
        let pooled: Vec<Arc<Row>> = rows
            .into_iter()
            .map(|row| index.pool.intern(row, usize::MAX).unwrap_or_else(Arc::new))
            .collect();
        for (cell, &row) in index.rows.iter().skip(1).zip(row_of) {
            if let Some(row) = pooled.get(row as usize) {
                let _ = cell.set(row.clone());
            }
        }
        Ok(index)
    }

    fn empty(automaton: ByteDfa, vocabulary: &Vocabulary, config: &IndexConfig) -> Index {
        Index {
            rows: (0..=automaton.state_count())
                .map(|_| OnceLock::new())
                .collect(),
            vocabulary: vocabulary.clone(),
            config: config.clone(),
            pool: RowPool::default(),
            run_rows: RunRows::default(),
            spellable: None,
            automaton,
        }
    }

    fn compute(&self, state: Cursor, walker: &mut Walker) -> Row {
        if let Some(spellable) = &self.spellable {
            return self.walk_spellable(state, spellable, walker);
        }
        if self.config.text_runs != TextRuns::Never
            && let Some(text) = self.automaton.main_text(state)
        {
            if let Some(row) = self.put_together(state, text.class, walker) {
                return row;
            }
            let known = text.next;
            if known != state && self.automaton.main_text(known).map(|l| l.next) == Some(known) {
                return self.patch(state, known, walker);
            }
        }
        let mut mask = TokenMask::none(self.vocabulary.width());
        walker.mask(
            &self.automaton,
            &state,
            &mut (),
            &self.vocabulary,
            &mut mask,
        );
        Row::new(mask)
    }

    /// A row from the vocabulary cut by the class that `state` loops over.
    fn put_together(&self, state: Cursor, class: u32, walker: &mut Walker) -> Option<Row> {
        let ranges = self.automaton.loop_class(class);
        let runs = self.vocabulary.runs(ranges, self.config.text_runs)?;
        let mut mask = TokenMask::none(self.vocabulary.width());
        self.run_rows.put(
            &self.automaton,
            state,
            class,
            &runs,
            walker,
            mask.words_mut(),
        )?;
        finish(
            self.automaton.is_accepting(&state),
            &self.vocabulary,
            &mut mask,
        );
        Some(Row::new(mask))
    }

    /// A row from that of the state where most text leads.
    fn patch(&self, state: Cursor, known: Cursor, walker: &mut Walker) -> Row {
        let mut mask = TokenMask::none(self.vocabulary.width());
        match self.row(known).as_ref() {
            Row::Dense(row) => mask.words_mut().copy_from_slice(row.words()),
            Row::Sparse(tokens) => tokens.iter().for_each(|&token| mask.allow(token)),
        }
        let table = DenseTable {
            classes: self.automaton.classes(),
            next: self.automaton.next_table(),
        };
        walker.difference(
            table,
            (state, known),
            self.vocabulary.trie(),
            mask.words_mut(),
        );
        finish(
            self.automaton.is_accepting(&state),
            &self.vocabulary,
            &mut mask,
        );
        Row::new(mask)
    }

    /// A row of the tokens from which the vocabulary can go on.
    fn walk_spellable(&self, state: Cursor, spellable: &[bool], walker: &mut Walker) -> Row {
        let mut mask = TokenMask::none(self.vocabulary.width());
        let words = mask.words_mut();
        let trie = self.vocabulary.trie();
        walker.walk(&self.automaton, &state, &mut (), trie, |token, to| {
            if spellable[self.automaton.number(to)] {
                words[token as usize / 32] |= 1 << (token % 32);
            }
        });
        finish(
            self.automaton.is_accepting(&state),
            &self.vocabulary,
            &mut mask,
        );
        Row::new(mask)
    }

    /// Computes every row.
    fn fill(&self) -> Result<(), Error> {
        let states: Vec<Cursor> = (1..=self.automaton.state_count())
            .map(|n| self.automaton.state(n))
            .filter(|&s| self.is_spellable(s))
            .collect();
        let fill = |walker: &mut Walker, &state: &Cursor| {
            let cell = &self.rows[self.automaton.number(state)];
            if cell.get().is_some() {
                return Ok(()); // Another row was patched from it.
            }
            let row = self.compute(state, walker);
            match self.pool.intern(row, self.config.max_row_bytes) {
                Ok(row) => {
                    let _ = cell.set(row);
                    Ok(())
                }
                Err(_) => Err(Error::new(
                    ErrorKind::LimitExceeded,
                    format!(
                        "limit `max_row_bytes` of {} bytes exceeded by the index of {} states; \
                         raise it, simplify the pattern, or fill the index lazily",
                        self.config.max_row_bytes,
                        states.len()
                    ),
                )),
            }
        };
        #[cfg(feature = "rayon")]
        {
            use rayon::prelude::*;
            states
                .par_iter()
                .try_for_each_init(Walker::default, |walker, state| fill(walker, state))
        }
        #[cfg(not(feature = "rayon"))]
        {
            let mut walker = Walker::default();
            states.iter().try_for_each(|state| fill(&mut walker, state))
        }
    }

    /// Finds out whether dead ends are possible because bytes are no tokens.
    ///
    /// Mostly not: a state that can be finished by bytes that are tokens is no
    /// dead end, whatever else is missing. That is cheap to see; only where it
    /// is not so does it take a walk at every state.
    fn settle_spelling(&mut self) -> Result<(), Error> {
        let missing = self.missing_bytes();
        if missing.is_empty() || self.finishes_without(&missing) {
            return Ok(());
        }
        self.prune(&missing)
    }

    /// Whether every state can reach acceptance without the `missing` bytes.
    fn finishes_without(&self, missing: &[u8]) -> bool {
        let states = self.automaton.state_count() + 1;
        let mut incoming: Vec<Vec<u32>> = vec![Vec::new(); states];
        for number in 1..states {
            let mut seen = None;
            for byte in (0..=255u8).filter(|b| missing.binary_search(b).is_err()) {
                let to = self
                    .automaton
                    .step(self.automaton.state(number), byte, &mut ());
                if !to.is_dead() && seen != Some(to) {
                    seen = Some(to);
                    incoming[self.automaton.number(to)].push(number as u32);
                }
            }
        }
        let live = self.reach(&incoming);
        live.iter().skip(1).all(|&live| live)
    }

    /// The states from which the incoming edges lead to acceptance.
    fn reach(&self, incoming: &[Vec<u32>]) -> Vec<bool> {
        let mut live = self.automaton.accepting().to_vec();
        let mut stack: Vec<usize> = (0..live.len()).filter(|&s| live[s]).collect();
        while let Some(state) = stack.pop() {
            for &from in &incoming[state] {
                if !std::mem::replace(&mut live[from as usize], true) {
                    stack.push(from as usize);
                }
            }
        }
        live
    }

    /// The bytes that some accepted text needs and that are no tokens, in
    /// ascending order.
    fn missing_bytes(&self) -> Vec<u8> {
        let table = self.automaton.next_table();
        let classes = self.automaton.classes();
        let stride = self.automaton.class_count();
        let mut used = vec![false; stride];
        for row in table.chunks_exact(stride).skip(1) {
            for (used, &next) in used.iter_mut().zip(row) {
                *used |= next != 0;
            }
        }
        let missing = self.vocabulary.missing_bytes();
        missing
            .into_iter()
            .filter(|&b| used[classes[b as usize] as usize])
            .collect()
    }

    /// Finds the states that can be finished with whole tokens. Without a
    /// token for each byte, a state that is live over bytes may not be.
    fn prune(&mut self, missing: &[u8]) -> Result<(), Error> {
        let states = self.automaton.state_count() + 1;
        let mut incoming: Vec<Vec<u32>> = vec![Vec::new(); states];
        let mut walker = Walker::default();
        let mut seen = vec![usize::MAX; states];
        for number in 1..states {
            let state = self.automaton.state(number);
            let trie = self.vocabulary.trie();
            walker.walk(&self.automaton, &state, &mut (), trie, |_, to| {
                let to = self.automaton.number(to);
                if std::mem::replace(&mut seen[to], number) != number {
                    incoming[to].push(number as u32);
                }
            });
        }
        let spellable = self.reach(&incoming);
        if !spellable[self.automaton.number(self.automaton.start())] {
            return Err(cannot_spell(missing));
        }
        self.spellable = Some(spellable.into());
        Ok(())
    }
}

#[cold]
fn cannot_spell(missing: &[u8]) -> Error {
    let mut names: Vec<String> = missing
        .iter()
        .take(16)
        .map(|&b| match b {
            b' '..=b'~' => format!("`{}`", b as char),
            _ => format!("0x{b:02X}"),
        })
        .collect();
    if missing.len() > names.len() {
        names.push(format!("and {} more", missing.len() - names.len()));
    }
    Error::new(
        ErrorKind::CannotSpell,
        format!(
            "the vocabulary has no tokens for the bytes {}, so no accepted text can be spelt",
            names.join(", ")
        ),
    )
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = self.stats();
        write!(f, "Index({} states, {} rows)", stats.states, stats.rows)
    }
}
