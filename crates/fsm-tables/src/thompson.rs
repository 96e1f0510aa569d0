//! Thompson's construction ("Regular expression search algorithm", 1968) for any syntax. For
//! example, `a{2,3}` becomes `aa(a?)`.

use rustc_hash::FxHashMap;

use crate::copies::{Block, Family, Most};
use crate::{Builder, Look, Meter, NfaId, State};

/// The shape of an expression.
#[derive(Debug)]
pub enum Shape<'e, E> {
    /// One that [`Syntax::leaf`] builds: a literal, a class, an anchor.
    Leaf,
    /// The same as this one: a group.
    Group(&'e E),
    /// These, one after the other; without any, the empty text.
    Concat(&'e [E]),
    /// One of these, of which there is one at least.
    Alternation(&'e [E]),
    /// So many times the same.
    Repeat {
        /// The expression that is repeated.
        of: &'e E,
        /// The least number of repetitions.
        min: u32,
        /// The greatest number of repetitions; `None` is without end.
        max: Option<u32>,
    },
    /// The same, of which fewer are preferred to more: see [`Builder::preferred`].
    Lazy {
        /// The expression that is repeated.
        of: &'e E,
        /// The least number of times.
        min: u32,
        /// The greatest number of times; `None` is without end.
        max: Option<u32>,
    },
    /// The empty text, where the text around allows it.
    Look {
        /// The direction in which it looks, and what it wants.
        look: Look,
        /// The expression of which a match is looked for.
        of: &'e E,
    },
}

/// A reader of expressions of some kind for [`Builder::expression`].
///
/// ```
/// use std::convert::Infallible;
///
/// use fsm_tables::{Builder, NfaId, Shape, Syntax, Unlimited, MATCH};
///
/// enum Pattern {
///     Byte(u8),
///     Both(Vec<Pattern>),
///     Many(Box<Pattern>),
/// }
///
/// struct Patterns;
///
/// impl Syntax<Unlimited> for Patterns {
///     type Expression = Pattern;
///
///     fn shape<'e>(&self, of: &'e Pattern) -> Shape<'e, Pattern> {
///         match of {
///             Pattern::Byte(_) => Shape::Leaf,
///             Pattern::Both(parts) => Shape::Concat(parts),
///             Pattern::Many(of) => Shape::Repeat { of, min: 0, max: None },
///         }
///     }
///
///     fn leaf(
///         &mut self,
///         builder: &mut Builder<'_, Unlimited>,
///         leaf: &Pattern,
///         next: NfaId,
///     ) -> Result<NfaId, Infallible> {
///         match leaf {
///             Pattern::Byte(byte) => builder.symbol(vec![(u32::from(*byte), u32::from(*byte))], next),
///             _ => Ok(next),
///         }
///     }
/// }
///
/// let many = |byte| Pattern::Many(Box::new(Pattern::Byte(byte)));
/// let mut meter = Unlimited;
/// let mut builder = Builder::new(&mut meter);
/// let start = builder.expression(&mut Patterns, &Pattern::Both(vec![many(b'a'), many(b'b')]), MATCH)?;
/// let nfa = builder.finish(start);
/// assert!(nfa.accepts("aab".bytes().map(u32::from)));
/// assert!(!nfa.accepts("aba".bytes().map(u32::from)));
/// # Ok::<(), Infallible>(())
/// ```
pub trait Syntax<M: Meter> {
    /// An expression.
    type Expression;

    /// Returns the shape of an expression.
    fn shape<'e>(&self, of: &'e Self::Expression) -> Shape<'e, Self::Expression>;

    /// Builds one that has no parts in front of a state; answers where it begins.
    ///
    /// # Errors
    ///
    /// The errors are those of the meter, and those of the leaf.
    fn leaf(
        &mut self,
        builder: &mut Builder<'_, M>,
        leaf: &Self::Expression,
        next: NfaId,
    ) -> Result<NfaId, M::Error>;
}

/// The work that is left for an expression when a part of it is built.
enum Open<'e, E> {
    /// The parts before it are built.
    Concat(&'e [E]),
    /// So are the alternatives before it, each of which goes on at `next`.
    Alternation {
        before: &'e [E],
        next: NfaId,
        behind: Option<NfaId>,
    },
    /// It was the body of a loop.
    Loop { split: NfaId, copies: Copies<'e, E> },
    /// It was a copy of a repetition.
    Copies(Copies<'e, E>),
    /// It was what a look looks for.
    Look { look: Look, of: &'e E, next: NfaId },
}

/// The expressions of looks that are built, by their places: a repetition meets its own
/// again.
type Looked<E> = FxHashMap<*const E, NfaId>;

/// The copies of a repetition that are yet to be built, from the last to the first: those
/// that may be left out come behind those that must be there.
struct Copies<'e, E> {
    of: &'e E,
    prefers: Prefers,
    optional: u32,
    needed: u32,
    /// The state behind all of them.
    next: NfaId,
    /// The state behind the next one.
    at: NfaId,
    /// The state with which the one begins that is being built.
    from: NfaId,
    /// The copies that were built before it.
    family: Family,
}

/// The way that a repetition tries first.
#[derive(Clone, Copy)]
enum Prefers {
    More,
    Fewer,
}

impl Prefers {
    fn split(self, more: NfaId, fewer: NfaId) -> State {
        match self {
            Prefers::More => State::Split(more, fewer),
            Prefers::Fewer => State::Split(fewer, more),
        }
    }
}

/// The progress of an expression.
enum Begun<'e, E> {
    /// This part of it is to be built, and goes on there.
    Part(&'e E, NfaId),
    /// It is built, and begins here.
    Whole(NfaId),
}

impl<'e, E> Copies<'e, E> {
    /// The next copy, if there is one.
    fn begin(self, open: &mut Vec<Open<'e, E>>) -> Begun<'e, E> {
        if self.optional == 0 && self.needed == 0 {
            return Begun::Whole(self.at);
        }
        let part = Begun::Part(self.of, self.at);
        open.push(Open::Copies(self));
        part
    }
}

/// The bytes that the beginning of a look's expression takes, because it is kept by its number and
/// direction.
const LOOKED_BYTES: usize = 32;

impl<M: Meter> Builder<'_, M> {
    /// Builds an expression in front of a state; answers where it begins.
    ///
    /// This is the construction of Ken Thompson ("Regular Expression Search Algorithm", CACM 11(6),
    /// 1968), from the end to the start. Time and states are as the expression with its counts
    /// written out. Open expressions lie in a list, so that no thread's stack is too small for an
    /// expression that nests.
    ///
    /// # Errors
    ///
    /// The errors are those of the meter and of [`Syntax::leaf`].
    pub fn expression<S: Syntax<M>>(
        &mut self,
        syntax: &mut S,
        expression: &S::Expression,
        next: NfaId,
    ) -> Result<NfaId, M::Error> {
        let mut open: Vec<Open<'_, S::Expression>> = Vec::new();
        let mut looked = Looked::default();
        let mut one = (expression, next);
        loop {
            let mut built = match self.begin(syntax, one, &mut open, &looked)? {
                Begun::Part(part, next) => {
                    one = (part, next);
                    continue;
                }
                Begun::Whole(state) => state,
            };
            one = loop {
                let Some(outer) = open.pop() else {
                    return Ok(built);
                };
                if let Open::Look { of, .. } = &outer {
                    self.meter().hold(LOOKED_BYTES)?;
                    looked.insert(std::ptr::from_ref(*of), built);
                }
                match self.go_on(outer, built, &mut open)? {
                    Begun::Part(part, next) => break (part, next),
                    Begun::Whole(state) => built = state,
                }
            };
        }
    }

    /// Builds an expression if it has no parts, and otherwise says which is built first.
    fn begin<'e, S: Syntax<M>>(
        &mut self,
        syntax: &mut S,
        (expression, next): (&'e S::Expression, NfaId),
        open: &mut Vec<Open<'e, S::Expression>>,
        looked: &Looked<S::Expression>,
    ) -> Result<Begun<'e, S::Expression>, M::Error> {
        // Parts that match nothing but the empty text make no state, and take time.
        self.meter().work(1)?;
        match syntax.shape(expression) {
            Shape::Leaf => Ok(Begun::Whole(syntax.leaf(self, expression, next)?)),
            Shape::Group(of) => Ok(Begun::Part(of, next)),
            Shape::Concat(parts) => self.go_on(Open::Concat(parts), next, open),
            Shape::Alternation(parts) => self.alternative(parts, next, None, open),
            Shape::Look { look, of } => match looked.get(&std::ptr::from_ref(of)) {
                Some(&begin) => Ok(Begun::Whole(self.look(look, begin, next)?)),
                None => {
                    open.push(Open::Look { look, of, next });
                    Ok(Begun::Part(of, self.found()?))
                }
            },
            Shape::Repeat { of, min, max } => {
                self.repeat(of, (min, max), Prefers::More, next, open)
            }
            Shape::Lazy { of, min, max } => self.repeat(of, (min, max), Prefers::Fewer, next, open),
        }
    }

    fn repeat<'e, E>(
        &mut self,
        of: &'e E,
        (min, max): (u32, Option<u32>),
        prefers: Prefers,
        next: NfaId,
        open: &mut Vec<Open<'e, E>>,
    ) -> Result<Begun<'e, E>, M::Error> {
        let optional = max.map_or(0, |max| max.saturating_sub(min));
        let mut copies = Copies {
            of,
            prefers,
            optional,
            needed: min,
            next,
            at: next,
            from: self.states.len() as NfaId,
            family: match max {
                Some(_) if optional > 0 => Family::new(Most::BuiltLast, optional),
                Some(_) => Family::new(Most::None, 0),
                None => Family::new(Most::BuiltFirst, min),
            },
        };
        if max.is_none() {
            let split = self.push(State::Split(next, next))?;
            copies.at = split;
            copies.from = split + 1;
            open.push(Open::Loop { split, copies });
            return Ok(Begun::Part(of, split));
        }
        Ok(copies.begin(open))
    }

    /// Goes on with an expression of which a part is built.
    fn go_on<'e, E>(
        &mut self,
        outer: Open<'e, E>,
        built: NfaId,
        open: &mut Vec<Open<'e, E>>,
    ) -> Result<Begun<'e, E>, M::Error> {
        match outer {
            Open::Concat(parts) => Ok(match parts.split_last() {
                None => Begun::Whole(built),
                Some((last, before)) => {
                    open.push(Open::Concat(before));
                    Begun::Part(last, built)
                }
            }),
            Open::Alternation {
                before,
                next,
                behind,
            } => {
                let state = match behind {
                    Some(rest) => self.push(State::Split(built, rest))?,
                    None => built,
                };
                self.alternative(before, next, Some(state), open)
            }
            Open::Look { look, next, .. } => Ok(Begun::Whole(self.look(look, built, next)?)),
            Open::Loop { split, mut copies } => {
                let end = self.states.len() as NfaId;
                let body = Block {
                    begin: copies.from,
                    end,
                    next: split,
                };
                copies.family.copied(body, self)?;
                copies.from = end;
                self.set_state(split, copies.prefers.split(built, copies.next));
                Ok(copies.begin(open))
            }
            Open::Copies(mut copies) => {
                // A copy that begins where it ends matches the empty text alone, however
                // often it is repeated.
                let empty = built == copies.at;
                let copy = Block {
                    begin: copies.from,
                    end: self.states.len() as NfaId,
                    next: copies.at,
                };
                copies.family.copied(copy, self)?;
                if copies.optional > 0 {
                    copies.optional = if empty { 0 } else { copies.optional - 1 };
                    if !empty {
                        // Every way out goes straight to `next`, which keeps closures
                        // small however large the count is.
                        copies.at = self.push(copies.prefers.split(built, copies.next))?;
                    }
                } else {
                    copies.needed = if empty { 0 } else { copies.needed - 1 };
                    copies.at = built;
                }
                if copies.optional == 0 && copies.family.most == Most::BuiltLast {
                    // The number of copies that are left and must come says nothing of the
                    // others.
                    copies.family = Family::new(Most::None, 0);
                }
                copies.from = self.states.len() as NfaId;
                Ok(copies.begin(open))
            }
        }
    }

    /// The last of the alternatives `before`; those behind it begin at `behind`.
    fn alternative<'e, E>(
        &mut self,
        before: &'e [E],
        next: NfaId,
        behind: Option<NfaId>,
        open: &mut Vec<Open<'e, E>>,
    ) -> Result<Begun<'e, E>, M::Error> {
        let Some((last, before)) = before.split_last() else {
            return Ok(Begun::Whole(behind.unwrap_or(next)));
        };
        open.push(Open::Alternation {
            before,
            next,
            behind,
        });
        Ok(Begun::Part(last, next))
    }
}
