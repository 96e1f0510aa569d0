//! `Matcher`: one text under a constraint, token by token; and the masks of many. For example,
//! after `accept(token)` of a `{` the mask allows `"` and blanks.

use std::sync::{Mutex, MutexGuard, TryLockError};

use fsm_index::{AnyGuide, TokenId};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use rayon::prelude::*;

use crate::buffers::{Elements, Matrix, Row};
use crate::constraint::{Constraint, landing_of};
use crate::error::{IntoPython, caught, detached, of_kind};
use crate::pool::{available_threads, pool};
use crate::vocabulary::token_ids;

/// Leads one text through a constraint, token by token.
///
/// Two threads that use one matcher at the same time are an error (`busy`), never a race.
#[pyclass(frozen, module = "tokenmold")]
pub(crate) struct Matcher {
    constraint: Py<Constraint>,
    guide: Mutex<Box<dyn AnyGuide>>,
}

/// The longest run of tokens that each are the only one, in tokens: bounded, because a grammar may
/// force a text without end.
const MAX_FORCED: usize = 4_096;

impl Matcher {
    pub(crate) fn new(constraint: Py<Constraint>, guide: Box<dyn AnyGuide>) -> Matcher {
        Matcher {
            constraint,
            guide: Mutex::new(guide),
        }
    }

    /// Does something with the guide. A panic on the way poisons the lock.
    fn with<T>(&self, work: impl FnOnce(&mut dyn AnyGuide) -> PyResult<T>) -> PyResult<T> {
        caught(|| work(&mut **lock(&self.guide)?))
    }

    /// The same with the interpreter's lock given up.
    fn with_detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn AnyGuide) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        detached(py, || work(&mut **lock(&self.guide)?))
    }

    fn matrix(&self, mask: &Bound<'_, PyAny>) -> PyResult<(Matrix, usize)> {
        let matrix = Matrix::of(mask, Elements::MaskWords)?;
        let width = self.constraint.get().compiled.tokens().width();
        let words = width.div_ceil(32);
        match matrix.columns() < words {
            true => Err(too_narrow(matrix.columns(), words)),
            false => Ok((matrix, width)),
        }
    }
}

fn lock(guide: &Mutex<Box<dyn AnyGuide>>) -> PyResult<MutexGuard<'_, Box<dyn AnyGuide>>> {
    guide.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => of_kind(
            "busy",
            "another thread is using this matcher; give each thread a copy",
        ),
        TryLockError::Poisoned(_) => of_kind(
            "internal",
            "a defect of tokenmold ended an earlier call of this matcher; start a new one",
        ),
    })
}

/// Writes the mask into a row; whether some token is forbidden.
pub(crate) fn write(
    guide: &mut dyn AnyGuide,
    row: &mut Row<'_, u32>,
    width: usize,
) -> PyResult<bool> {
    let words = guide.mask().map_err(IntoPython::into_python)?.words();
    let row = row.as_mut_slice();
    let given = row.len();
    let Some((to, padding)) = row.split_at_mut_checked(words.len()) else {
        return Err(too_narrow(given, words.len()));
    };
    to.copy_from_slice(words);
    padding.fill(0);
    Ok(is_restrictive(words, width) || given * 32 > width.next_multiple_of(32))
}

/// Tells whether a mask forbids a token.
fn is_restrictive(words: &[u32], width: usize) -> bool {
    let Some((last, full)) = words.split_last() else {
        return false;
    };
    let bits = width - full.len() * 32;
    full.iter().any(|word| *word != u32::MAX) || u64::from(*last) != (1 << bits) - 1
}

#[cold]
fn too_narrow(given: usize, words: usize) -> PyErr {
    of_kind(
        "buffer_size",
        format!(
            "a row of {given} words is too narrow for a mask of {words}; allocate_mask makes one \
             that fits"
        ),
    )
}

fn ids(tokens: impl IntoIterator<Item = TokenId>) -> Vec<u32> {
    tokens.into_iter().map(TokenId::get).collect()
}

#[pymethods]
impl Matcher {
    /// The constraint.
    #[getter]
    fn constraint(&self, py: Python<'_>) -> Py<Constraint> {
        self.constraint.clone_ref(py)
    }

    /// Tells whether the text is complete: it may end here.
    #[getter]
    fn is_complete(&self) -> PyResult<bool> {
        self.with(|guide| Ok(guide.is_accepting()))
    }

    /// Tells whether the text has ended: an end token was taken, and not taken back.
    #[getter]
    fn is_terminated(&self) -> PyResult<bool> {
        self.with(|guide| Ok(guide.has_ended()))
    }

    /// Takes a token; False if it may not come here, and then nothing has changed.
    ///
    /// A step takes less time than to give the interpreter's lock up and to get it back, so it
    /// is kept; so does `rollback`.
    fn accept(&self, token: u32) -> PyResult<bool> {
        self.with(|guide| Ok(guide.advance(TokenId::new(token)).is_ok()))
    }

    /// Takes tokens one after another up to the first that may not come; how many were taken.
    fn accept_all(&self, py: Python<'_>, tokens: &Bound<'_, PyAny>) -> PyResult<usize> {
        let tokens = token_ids(tokens)?;
        self.with_detached(py, |guide| {
            let refused = tokens
                .iter()
                .position(|token| guide.advance(*token).is_err());
            Ok(refused.unwrap_or(tokens.len()))
        })
    }

    /// Returns the number of these tokens that could be taken one after another; nothing
    /// changes.
    fn validate(&self, py: Python<'_>, tokens: &Bound<'_, PyAny>) -> PyResult<usize> {
        let tokens = token_ids(tokens)?;
        self.with_detached(py, |guide| Ok(guide.validate(&tokens)))
    }

    /// Takes the last `n` tokens back. Behind the end token that is among them, the text has not
    /// ended any more.
    #[pyo3(signature = (n = 1))]
    fn rollback(&self, n: usize) -> PyResult<()> {
        self.with(|guide| guide.rollback(n).map_err(IntoPython::into_python))
    }

    /// Goes back to the beginning.
    fn reset(&self) -> PyResult<()> {
        self.with(|guide| {
            let taken = guide.len();
            guide.rollback(taken).map_err(IntoPython::into_python)
        })
    }

    /// A matcher at the same place, which goes on by itself. They share what came before.
    fn copy(&self, py: Python<'_>) -> PyResult<Matcher> {
        let guide = self.with(|guide| Ok(guide.fork()))?;
        Ok(Matcher::new(self.constraint.clone_ref(py), guide))
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Matcher> {
        self.copy(py)
    }

    /// Returns the number of tokens that were taken.
    fn __len__(&self) -> PyResult<usize> {
        self.with(|guide| Ok(guide.len()))
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// The temperature at which the grammar wants the next token drawn, from its option
    /// `temperature`; `None` where it says none. It is the highest of those that may come.
    fn temperature(&self) -> PyResult<Option<f64>> {
        self.with(|guide| Ok(guide.temperature()))
    }

    /// The longest run of bytes that must come next, whatever is chosen. It stops where the
    /// text may end, and before special tokens.
    fn forced_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with_detached(py, |guide| Ok(guide.forced_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The tokens that must come next.
    ///
    /// With `encode`, which makes tokens of bytes as the tokenizer does: those of the forced
    /// bytes, up to where another token could span their end. Without it: tokens that each are
    /// the only one which may come.
    #[pyo3(signature = (encode = None))]
    fn forced_tokens(&self, encode: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<u32>> {
        let Some(encode) = encode else {
            return self.with(|guide| only_tokens(guide));
        };
        let mut failed = None;
        let mut encoded = |bytes: &[u8]| {
            let tokens = encode
                .call1((PyBytes::new(encode.py(), bytes),))
                .and_then(|tokens| token_ids(&tokens));
            tokens.unwrap_or_else(|error| {
                failed = Some(error);
                Vec::new()
            })
        };
        let tokens = self.with(|guide| Ok(guide.forced_tokens(&mut encoded)))?;
        match failed {
            Some(error) => Err(error),
            None => Ok(ids(tokens)),
        }
    }

    /// The tokens that may come next, ascending.
    fn allowed_tokens(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.with_detached(py, |guide| {
            Ok(ids(guide
                .allowed_tokens()
                .map_err(IntoPython::into_python)?))
        })
    }

    /// Writes which tokens may come next into a row of a mask: bit `t % 32` of word `t // 32`.
    /// Words behind the vocabulary are cleared. False if every token is allowed.
    #[pyo3(signature = (mask, row = 0))]
    fn fill(&self, py: Python<'_>, mask: &Bound<'_, PyAny>, row: usize) -> PyResult<bool> {
        let (matrix, width) = self.matrix(mask)?;
        let mut row = matrix.row::<u32>(row)?;
        self.with_detached(py, |guide| write(guide, &mut row, width))
    }

    /// Writes the masks of drafted tokens: that of this place into `row`, that behind the first
    /// token into the next, and so on, one more than there are tokens. Returns the number of tokens
    /// that could be taken; the rows behind the first that could not repeat the one before it. The
    /// matcher stays where it is.
    #[pyo3(signature = (tokens, mask, row = 0))]
    fn fill_drafts(
        &self,
        py: Python<'_>,
        tokens: &Bound<'_, PyAny>,
        mask: &Bound<'_, PyAny>,
        row: usize,
    ) -> PyResult<usize> {
        let tokens = token_ids(tokens)?;
        let (matrix, width) = self.matrix(mask)?;
        let rows: PyResult<Vec<Row<'_, u32>>> = (row..=row.saturating_add(tokens.len()))
            .map(|row| matrix.row::<u32>(row))
            .collect();
        let mut rows = rows?;
        self.with_detached(py, |guide| {
            let mut taken = 0;
            let done = drafts(guide, &tokens, &mut rows, width, &mut taken);
            guide.rollback(taken).map_err(IntoPython::into_python)?;
            done.map(|()| taken)
        })
    }

    /// Returns the number of tokens that may still come, tokens that end the text not counted; None
    /// without a budget. Setting it is for engines that count by themselves: a budget from now on,
    /// if there was none.
    #[getter]
    fn tokens_left(&self) -> PyResult<Option<usize>> {
        self.with(|guide| Ok(guide.tokens_left()))
    }

    #[setter]
    fn set_tokens_left(&self, tokens: usize) -> PyResult<()> {
        self.with(|guide| {
            guide.set_tokens_left(tokens);
            Ok(())
        })
    }

    /// Says how a text with a budget comes to its end: as the `landing` of `Constraint.matcher`,
    /// with a margin by the tokens that are left. Without a budget it changes nothing.
    fn set_landing(&self, landing: &Bound<'_, PyAny>) -> PyResult<()> {
        let landing = landing_of(landing)?;
        self.with(|guide| {
            guide.set_landing(landing);
            Ok(())
        })
    }

    /// Returns the number of tokens that lead to the end of the text; None where no way to it is
    /// known.
    #[getter]
    fn tokens_needed(&self) -> PyResult<Option<usize>> {
        self.with(|guide| Ok(guide.tokens_needed()))
    }

    /// A shortest text that completes this one; None where that takes more than is looked for.
    fn completion<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = self.with_detached(py, |guide| Ok(guide.completion().ok()))?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Returns the place at which the text stands, and the reason why a token may not come there.
    #[pyo3(signature = (token = None))]
    fn explain(&self, py: Python<'_>, token: Option<u32>) -> PyResult<Explanation> {
        self.with_detached(py, |guide| {
            let place = guide.place().unwrap_or_default();
            let refused = token.and_then(|token| match guide.advance(TokenId::new(token)) {
                Ok(()) => {
                    // It was taken this moment, so it can be taken back.
                    let _ = guide.rollback(1);
                    None
                }
                Err(error) => Some((error.to_string(), error.offset())),
            });
            let (refused, offset) = refused.map_or((None, None), |(why, at)| (Some(why), at));
            Ok(Explanation {
                place: place.state,
                pointers: place.locations,
                refused,
                offset,
                completion: guide.completion().ok(),
            })
        })
    }

    fn __repr__(&self) -> PyResult<String> {
        self.with(|guide| {
            let state = match (guide.has_ended(), guide.is_accepting()) {
                (true, _) => "ended",
                (_, true) => "complete",
                _ => "open",
            };
            Ok(format!("<Matcher {state} after {} tokens>", guide.len()))
        })
    }
}

/// The tokens that each are the only one that may come, in a row.
fn only_tokens(guide: &dyn AnyGuide) -> PyResult<Vec<u32>> {
    let mut guide = guide.fork();
    let mut forced = Vec::new();
    while forced.len() < MAX_FORCED && !guide.has_ended() {
        let words = guide.mask().map_err(IntoPython::into_python)?.words();
        let mut set = (0u32..).zip(words).filter(|(_, word)| **word != 0);
        let (Some((at, word)), None) = (set.next(), set.next()) else {
            break;
        };
        if !word.is_power_of_two() {
            break;
        }
        let token = at * 32 + word.trailing_zeros();
        guide
            .advance(TokenId::new(token))
            .map_err(IntoPython::into_python)?;
        forced.push(token);
    }
    Ok(forced)
}

/// Fills the rows of drafted tokens and takes those that may come, which `taken` counts.
fn drafts(
    guide: &mut dyn AnyGuide,
    tokens: &[TokenId],
    rows: &mut [Row<'_, u32>],
    width: usize,
    taken: &mut usize,
) -> PyResult<()> {
    let mut at = 0;
    loop {
        write(guide, &mut rows[at], width)?;
        let Some(&token) = tokens.get(at) else {
            return Ok(());
        };
        at += 1;
        if guide.has_ended() || guide.advance(token).is_err() {
            break;
        }
        *taken += 1;
    }
    let (filled, rest) = rows.split_at_mut(at);
    if let Some(last) = filled.last_mut() {
        let last = last.as_mut_slice();
        rest.iter_mut()
            .for_each(|row| row.as_mut_slice().copy_from_slice(last));
    }
    Ok(())
}

/// The place at which a text stands, and the reason why a token is refused there.
#[pyclass(frozen, module = "tokenmold")]
pub(crate) struct Explanation {
    place: String,
    pointers: Vec<String>,
    refused: Option<String>,
    offset: Option<usize>,
    completion: Option<Vec<u8>>,
}

#[pymethods]
impl Explanation {
    /// The first of the places in the schema, as JSON Pointers, that speak of what comes next.
    #[getter]
    fn pointer(&self) -> Option<&str> {
        self.pointers.first().map(String::as_str)
    }

    /// All of them.
    #[getter]
    fn pointers(&self) -> Vec<&str> {
        self.pointers.iter().map(String::as_str).collect()
    }

    /// The thing that is being read, in words.
    #[getter]
    fn place(&self) -> &str {
        &self.place
    }

    /// Why the token may not come; None if it may, or none was asked about.
    #[getter]
    fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// The byte of the token at which it leaves what is admitted.
    #[getter]
    fn offset(&self) -> Option<usize> {
        self.offset
    }

    /// A shortest text that completes this one; None where that takes more than is looked for.
    #[getter]
    fn completion<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let completion = self.completion.as_deref();
        completion.map(|bytes| PyBytes::new(py, bytes))
    }

    fn __repr__(&self) -> String {
        let at = self.pointers.join(", ");
        let refused = self.refused.as_deref().unwrap_or("nothing is refused");
        format!("<Explanation {} ({at}): {refused}>", self.place)
    }
}

/// The smallest batch that several threads fill: below it the threads wake up later than one thread
/// is done, because most masks are looked up.
const MIN_PARALLEL: usize = 16;

/// Writes the masks of many matchers in one call: that of `matchers[i]` into `rows[i]`, or row
/// `i`. Many are filled by several threads, `threads` or as many as the process may use.
///
/// `tokens_left` says for each matcher how many tokens may still come, or None where its own
/// count holds.
#[pyfunction]
#[pyo3(signature = (matchers, mask, rows = None, *, tokens_left = None, threads = None))]
pub(crate) fn fill_batch(
    py: Python<'_>,
    matchers: &Bound<'_, PyAny>,
    mask: &Bound<'_, PyAny>,
    rows: Option<Vec<usize>>,
    tokens_left: Option<Vec<Option<usize>>>,
    threads: Option<usize>,
) -> PyResult<()> {
    let matchers: PyResult<Vec<Bound<'_, Matcher>>> = match matchers.cast::<PyList>() {
        Ok(list) => list.iter().map(|m| Ok(m.cast_into()?)).collect(),
        Err(_) => matchers.try_iter()?.map(|m| Ok(m?.cast_into()?)).collect(),
    };
    let matchers = matchers?;
    let matrix = Matrix::of(mask, Elements::MaskWords)?;
    if rows
        .as_ref()
        .is_some_and(|rows| rows.len() != matchers.len())
    {
        return Err(of_kind("buffer_size", "there are as many rows as matchers"));
    }
    if tokens_left
        .as_ref()
        .is_some_and(|left| left.len() != matchers.len())
    {
        let message = "`tokens_left` has a number, or None, for each matcher";
        return Err(of_kind("bad_option", message));
    }
    let mut places: Vec<_> = matchers.iter().map(|matcher| matcher.as_ptr()).collect();
    places.sort_unstable();
    if places.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(of_kind(
            "buffer_size",
            "a matcher is twice in a batch; give it a copy",
        ));
    }
    let mut used = vec![false; matrix.rows()];
    let mut work = Vec::with_capacity(matchers.len());
    for (at, matcher) in matchers.iter().enumerate() {
        let row = rows.as_ref().map_or(at, |rows| rows[at]);
        let place = matrix.row::<u32>(row)?;
        if std::mem::replace(&mut used[row], true) {
            let message = format!("row {row} is that of two matchers");
            return Err(of_kind("buffer_size", message));
        }
        let matcher = matcher.get();
        let width = matcher.constraint.get().compiled.tokens().width();
        if matrix.columns() < width.div_ceil(32) {
            return Err(too_narrow(matrix.columns(), width.div_ceil(32)));
        }
        let left = tokens_left.as_ref().and_then(|left| left[at]);
        work.push((&matcher.guide, place, width, left));
    }
    let threads = threads.unwrap_or_else(available_threads).clamp(1, 64);
    detached(py, || {
        type Place<'g, 'r> = (
            &'g Mutex<Box<dyn AnyGuide>>,
            Row<'r, u32>,
            usize,
            Option<usize>,
        );
        let fill = |(guide, mut row, width, left): Place<'_, '_>| {
            let mut guide = lock(guide)?;
            if let Some(left) = left {
                guide.set_tokens_left(left);
            }
            write(&mut **guide, &mut row, width).map(drop)
        };
        if threads == 1 || work.len() < MIN_PARALLEL {
            return work.into_iter().try_for_each(fill);
        }
        pool(threads)?.install(|| work.into_par_iter().with_min_len(4).try_for_each(fill))
    })
}
