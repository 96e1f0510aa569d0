//! The part of a row that the topmost level of an automaton's stack decides.
//!
//! Inside a string, most tokens may come or not whatever the string is a part of; only
//! those that go on behind its end depend on that. The former are found once for
//! all states with one topmost level, and with them the places of the trie
//! where the others begin: a row is then the part, and a walk from those places.
//! (XGrammar tells tokens apart in the same way: Dong et al., "XGrammar:
//! Flexible and Efficient Structured Generation Engine for Large Language
//! Models", 2024, section 3.1.)
//!
//! For example, inside of a string `abc` is in the part, and `",` is a place where a walk goes on.

use std::sync::Arc;

use crate::bits::Bits;
use crate::tokens::Cut;

/// The part that the topmost level decides, and the rest that it leaves open.
#[derive(Debug)]
pub(crate) struct Part {
    sure: Sure,
    /// In the vocabulary's own trie, or where there is a cut, in that of the tokens that do
    /// not begin with its class.
    pub(crate) open: Box<[Open]>,
    /// In the trie of the rests of a cut: what follows at least one character
    /// of its class.
    pub(crate) open_rests: Option<(Arc<Cut>, Box<[OpenRest]>)>,
}

/// A subtree of rests of which the topmost level does not tell.
#[derive(Debug)]
pub(crate) struct OpenRest {
    pub(crate) open: Open,
    /// Behind how many characters of the class the rests may come: `from..to`.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Behind how many of them the walk begins.
    pub(crate) lead: usize,
}

/// The tokens that may come for sure, in ascending order.
#[derive(Debug)]
enum Sure {
    Few(Box<[u32]>),
    Many(Box<[u32]>),
}

/// The same of one half of a cut: the tokens that may come for sure, and those that are left open.
#[derive(Debug, PartialEq)]
pub(crate) struct HalfOnTop {
    pub(crate) sure: Box<[u32]>,
    pub(crate) open: Box<[Open]>,
}

impl HalfOnTop {
    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        let open = self.open.iter().map(Open::memory);
        size_of::<HalfOnTop>() + self.sure.len() * 4 + open.sum::<usize>()
    }
}

/// A subtree of which the topmost level does not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Open {
    /// Its first node.
    pub(crate) node: u32,
    /// The bytes that lead to where that node begins.
    pub(crate) path: Box<[u8]>,
}

impl Part {
    /// With so many tokens or fewer a list is smaller than a mask.
    pub(crate) const FEW: usize = 512;

    /// From the tokens that may come, each once.
    pub(crate) fn of_few(tokens: &mut [u32], open: Vec<Open>) -> Part {
        tokens.sort_unstable();
        Part {
            sure: Sure::Few((&*tokens).into()),
            open: open.into(),
            open_rests: None,
        }
    }

    /// From the bits of the tokens that may come.
    pub(crate) fn new(
        words: &[u32],
        open: Vec<Open>,
        open_rests: Option<(Arc<Cut>, Vec<OpenRest>)>,
    ) -> Part {
        let sure = match few(words) {
            Some(tokens) => Sure::Few(tokens.into()),
            None => Sure::Many(words.into()),
        };
        Part {
            sure,
            open: open.into(),
            open_rests: open_rests.map(|(cut, open)| (cut, open.into())),
        }
    }

    /// The tokens that may come for sure, where they are few.
    pub(crate) fn few(&self) -> Option<&[u32]> {
        match &self.sure {
            Sure::Few(tokens) => Some(tokens),
            Sure::Many(_) => None,
        }
    }

    /// Tells whether a token may come for sure.
    pub(crate) fn allows(&self, token: u32) -> bool {
        match &self.sure {
            Sure::Few(tokens) => tokens.binary_search(&token).is_ok(),
            Sure::Many(all) => all[token as usize / 32] >> (token % 32) & 1 != 0,
        }
    }

    /// Writes the bits of the tokens that may come for sure, and of no others.
    pub(crate) fn lay_out(&self, words: &mut [u32]) {
        match &self.sure {
            Sure::Many(all) => words.copy_from_slice(all),
            Sure::Few(tokens) => {
                words.fill(0);
                for &token in tokens {
                    words.allow(token);
                }
            }
        }
    }

    /// Sets the bits of the tokens that may come for sure.
    pub(crate) fn add_to(&self, words: &mut [u32]) {
        match &self.sure {
            Sure::Many(all) => words
                .iter_mut()
                .zip(all)
                .for_each(|(word, more)| *word |= more),
            Sure::Few(tokens) => tokens.iter().for_each(|&token| words.allow(token)),
        }
    }

    /// Writes the bits of the word in which a token's bit lies.
    pub(crate) fn restore(&self, token: u32, words: &mut [u32]) {
        let at = token as usize / 32;
        words[at] = match &self.sure {
            Sure::Many(all) => all[at],
            Sure::Few(tokens) => {
                let from = tokens.partition_point(|&t| (t as usize) < at * 32);
                let here = tokens[from..]
                    .iter()
                    .take_while(|&&t| t as usize / 32 == at);
                here.fold(0, |word, t| word | 1 << (t % 32))
            }
        };
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        let (Sure::Few(sure) | Sure::Many(sure)) = &self.sure;
        let rests = self.open_rests.iter().flat_map(|(_, rests)| rests);
        let rests = rests.map(|rest| &rest.open);
        let open = self.open.iter().chain(rests).map(Open::memory);
        size_of::<Part>() + sure.len() * 4 + open.sum::<usize>()
    }
}

/// The tokens whose bits are set, in ascending order, if they are few.
fn few(words: &[u32]) -> Option<Vec<u32>> {
    let mut tokens = Vec::new();
    for (chunk, words) in words.chunks(CHUNK).enumerate() {
        // Most are empty, which many words at once tell quickly.
        if words.iter().fold(0, |all, word| all | word) == 0 {
            continue;
        }
        for (at, &word) in words.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                tokens.push((chunk * CHUNK + at) as u32 * 32 + left.trailing_zeros());
                left &= left - 1;
            }
        }
        if tokens.len() > Part::FEW {
            return None;
        }
    }
    Some(tokens)
}

/// The number of words that are looked at together, because most are zero, and a processor compares
/// so many at once.
const CHUNK: usize = 16;

impl Open {
    /// Bytes of memory.
    fn memory(&self) -> usize {
        size_of::<Open>() + self.path.len()
    }
}
