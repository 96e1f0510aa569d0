//! The ways in which it is told apart what may come, each with the sets that are read side by side then.
//!
//! For example, in `text: "\"" (/[^"{]+/ | "{" sum "}")* "\""` a sum is not read beside the text around it.

use std::rc::Rc;

use fsm_index::ByteSet;

use super::bits::Bits;
use super::brackets::BracketKind;
use super::contexts::Untold;
use super::effort::Task;
use super::followers::Followers;
use super::sets::Sets;
use super::uses;
use crate::compile::lr::Tables;

/// The most times that brackets are found anew, without those of which a text does not tell that they are open, because Elixir
/// and LaTeX need one, and of languages that need more nothing was proved so.
const MAX_ANEW: usize = 1;

/// The most times that brackets are united, because Nix and Liquid need one, and each takes as long as telling apart.
const MAX_UNITED: usize = 3;

/// The way in which uses of terminals are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// By the bracket that is open, and the parser's state.
    Bracket(BracketKind),
    /// By what may come behind them of text of nearly any characters.
    Text,
}

/// Uses that are told apart, with the sets that are read side by side.
pub(super) type ToldApart<'a> = (Rc<Followers>, Sets<'a>);

/// The grammar of which it is told apart what may come.
pub(super) struct WaysToTell<'a> {
    task: Task<'a>,
    tables: &'a Tables,
    /// The number of sets where nothing is told apart.
    sets: usize,
    /// The uses where nothing is told apart.
    all: Rc<Followers>,
    /// The uses of the way before, which need not be looked at again.
    before: Option<Rc<Followers>>,
    /// The terminals that are no brackets, because a text does not tell that they are open.
    lost: Bits,
    /// So many times brackets were found anew.
    anew: usize,
}

impl<'a> WaysToTell<'a> {
    pub(super) fn new(
        task: Task<'a>,
        tables: &'a Tables,
        all: Rc<Followers>,
        sets: usize,
    ) -> WaysToTell<'a> {
        WaysToTell {
            task,
            tables,
            sets,
            all,
            before: None,
            lost: Bits::new(task.cfg.terminals.len()),
            anew: 0,
        }
    }

    /// Returns the bytes that a way to the end may take.
    pub(super) fn usable(&self) -> ByteSet {
        self.task.usable
    }

    /// Tells whether it takes more effort than there is.
    pub(super) fn is_over(&self) -> bool {
        self.task.effort.is_over()
    }

    /// Tells uses apart in one way. `None` if it tells none apart, or not others than the way before, or too many.
    pub(super) fn tell(&mut self, way: By) -> Option<ToldApart<'a>> {
        match way {
            By::Bracket(kind) => self.by_bracket(kind),
            By::Text => {
                let uses = uses::by_text(self.task.cfg, self.task.lexer, self.tables);
                let uses = uses.map_or_else(|| self.all.clone(), Rc::new);
                if self.is_known(&uses) {
                    return None;
                }
                // Each set is found again, in some context.
                self.task.effort.need(self.sets)?;
                let sets = Sets::told_apart(self.task, &uses);
                Some((uses, sets.ok()?))
            }
        }
    }

    /// Tells whether the way before has told the same apart.
    fn is_known(&self, uses: &Followers) -> bool {
        let before = self.before.as_ref();
        before.is_some_and(|before| before.is_like(uses))
    }

    /// Tells uses apart by brackets, but those of which a text does not tell that they are open.
    fn by_bracket(&mut self, kind: BracketKind) -> Option<ToldApart<'a>> {
        let mut uses = uses::by_bracket(self.task, kind, &self.lost, self.sets)?;
        if self.is_known(&uses) {
            return None;
        }
        let mut united = 0;
        loop {
            match Sets::told_apart(self.task, &uses) {
                Err(Untold::Levels(levels)) if united < MAX_UNITED => {
                    uses.unite(&levels);
                    united += 1;
                }
                Err(Untold::Brackets(brackets)) => {
                    brackets.iter().for_each(|&one| self.lost.set(one));
                    self.anew += 1;
                    if self.anew > MAX_ANEW {
                        return None;
                    }
                    uses = uses::by_bracket(self.task, kind, &self.lost, self.sets)?;
                }
                sets => {
                    let uses = Rc::new(uses);
                    self.before = Some(uses.clone());
                    return Some((uses, sets.ok()?));
                }
            }
        }
    }
}
