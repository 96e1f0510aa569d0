//! The contents of an eager index, as plain numbers. For example, the row of `[0-9]` over a
//! vocabulary of single bytes is one run of ten places.

use crate::rows::RowView;
use crate::{ByteAutomaton, Error, Index, TokenMask, Vocabulary};

/// The automaton and the rows of an index, as plain numbers: for a program
/// that runs them elsewhere, on a GPU.
///
/// **Cursors.** A cursor is a state times `1 << shift` plus a node of the
/// decoder, which is 0 between two symbols; cursor 0 is dead. A byte leads on
/// like this: the byte's *code* is `first[byte]` at node 0, and at a node `n`
/// from 1 on, if the byte is 0x80 to 0xBF, `codes[i]` of the first `i` from
/// `nodes[n - 1]` on with `lasts[i] >= byte - 0x80`. Code 0 is dead. A code up
/// to `classes` completes a symbol: the next cursor is
/// `cells[state * classes + code - 1] << shift`. A greater one is node
/// `m = code - classes`, within the same state, if one of the words of
/// `live[state * set_words..]` has a bit in common with that of
/// `reach[(m - 1) * set_words..]`, and else dead.
///
/// **Rows.** The row of a cursor is that of the cursor with the state replaced
/// by `alike[state]`, where `alike` is not empty. Its number is
/// `row_places[i]` where `row_cursors[i]` is that cursor; a cursor that is not
/// there is never reached. Numbers below the length of `dense` are rows there,
/// the others are in `packed`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tables {
    /// The number of bits by which a state is shifted in a cursor.
    pub shift: u32,
    /// The number of classes of symbols.
    pub classes: u32,
    /// The cursor at the start of a text.
    pub start: u32,
    /// The codes of first bytes.
    pub first: Box<[u16; 256]>,
    /// The start of the ranges of each node, and the end.
    pub nodes: Vec<u32>,
    /// The last continuation byte of each range, less 0x80; 63 in the last one
    /// of a node.
    pub lasts: Vec<u8>,
    /// The code of each range.
    pub codes: Vec<u16>,
    /// The next state by state and class, state 0 included, which is dead.
    pub cells: Vec<u32>,
    /// The number of words that a set of classes has.
    pub set_words: usize,
    /// By state, the classes that go on; empty where there are no nodes.
    pub live: Vec<u64>,
    /// By node, from 1 on, the classes that it can lead to.
    pub reach: Vec<u64>,
    /// By state, the one whose rows it has; empty if each has its own.
    pub alike: Vec<u32>,
    /// The cursors that have a row, ascending.
    pub row_cursors: Vec<u32>,
    /// The number of the row of each.
    pub row_places: Vec<u32>,
    /// The dense rows: masks as wide as the vocabulary.
    pub dense: Vec<TokenMask>,
    /// The packed rows, which follow in number.
    pub packed: Vec<PackedRow>,
}

/// A row of few tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedRow {
    /// Runs of places in [`Vocabulary::tokens_in_order`], each with its end.
    pub runs: Vec<(u32, u32)>,
    /// More tokens: ends, and those with the bytes of another one.
    pub others: Vec<u32>,
}

impl Index {
    /// Returns the contents of the index, as plain numbers. A lazy index is filled first. Copies
    /// everything: O(size of the index).
    ///
    /// # Errors
    ///
    /// The index is lazy and filling it fails.
    ///
    /// ```
    /// use fsm_index::{Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
    /// let tables = Index::new("ab", &vocabulary)?.tables()?;
    /// assert!(format!("{tables:?}").contains("Tables"));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn tables(&self) -> Result<Tables, Error> {
        let automaton = self.automaton();
        let built = self.built()?;
        let decoder = automaton.decoder();
        let (first, nodes, lasts, codes) = decoder.parts();
        let (packed, starts) = built.packed();
        let rows = starts.windows(2).map(|ends| {
            let (runs, others) = RowView::unpack(&packed[ends[0] as usize..ends[1] as usize]);
            PackedRow { runs, others }
        });
        let reach = (1..=decoder.node_count() as u32).flat_map(|node| decoder.reach(node));
        Ok(Tables {
            shift: automaton.shift(),
            classes: automaton.class_count() as u32,
            start: automaton.start().0,
            first: Box::new(*first),
            nodes: nodes.into(),
            lasts: lasts.into(),
            codes: codes.into(),
            cells: automaton.cells().collect(),
            set_words: decoder.words(),
            live: automaton.live().into(),
            reach: reach.copied().collect(),
            alike: automaton.alike().unwrap_or_default().into(),
            row_cursors: built.cursors().into(),
            row_places: built.places().collect(),
            dense: built.dense().into(),
            packed: rows.collect(),
        })
    }
}

impl Vocabulary {
    /// The text tokens in the order of their bytes, which packed rows speak of;
    /// of tokens with the same bytes only one.
    pub fn tokens_in_order(&self) -> &[u32] {
        self.order()
    }
}
