//! Free text of structural tags: runs that stop strings end, that triggers leave, and that
//! may be of so many characters or tokens.
//!
//! For example, of a run with the stop string `END` the end `EN` may be the beginning of that.

use super::free::utf8;
use super::patterns::Patterns;

/// A run of free text.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) patterns: Patterns,
    /// True if only whole characters may come. If not, any byte may that completes no stop string.
    pub(super) utf8: bool,
    pub(super) max_chars: Option<u32>,
    /// Counted by [`At::touched`]: the run takes part in a token if it reads a byte of it.
    pub(super) max_tokens: Option<u32>,
    pub(super) triggers: Vec<Vec<u8>>,
    /// By trigger, the junction behind it.
    pub(super) fires: Vec<u32>,
}

/// A place in a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct At {
    pub(super) node: u16,
    /// The rest of a character, see [`utf8`].
    pub(super) inside: u8,
    /// True if only the rest of a trigger may come: a shorter one has been completed, and this is
    /// the reading in which it is the longer one.
    pub(super) bound: bool,
    /// True if the token that is being read is counted already.
    pub(super) touched: bool,
}

impl At {
    pub(super) fn pack(self) -> u32 {
        u32::from(self.node)
            | u32::from(self.inside) << 16
            | u32::from(self.bound) << 24
            | u32::from(self.touched) << 25
    }

    pub(super) fn unpack(packed: u32) -> At {
        At {
            node: packed as u16,
            inside: (packed >> 16) as u8,
            bound: packed >> 24 & 1 != 0,
            touched: packed >> 25 & 1 != 0,
        }
    }

    /// The same where a token begins.
    pub(super) fn fresh(packed: u32) -> u32 {
        At {
            touched: false,
            ..At::unpack(packed)
        }
        .pack()
    }
}

/// The ways that a byte leads.
pub(super) struct Step<'r> {
    /// Further on in the run: the place, and the characters and tokens so far.
    pub(super) stay: Option<(u32, u32, u32)>,
    /// The triggers that it completes.
    pub(super) fires: &'r [u16],
}

impl Run {
    /// Returns where a byte leads from a place; `None` if nowhere.
    pub(super) fn step(&self, inner: u32, chars: u32, tokens: u32, byte: u8) -> Option<Step<'_>> {
        let mut at = At::unpack(inner);
        let (mut chars, mut tokens) = (chars, tokens);
        let begins_char = match self.utf8 {
            true => at.inside == 0,
            false => !(0x80..=0xBF).contains(&byte),
        };
        // The rest of a character is not counted: it could not be left out.
        if let Some(most) = self.max_tokens
            && !at.touched
            && (!self.utf8 || at.inside == 0)
        {
            if tokens >= most {
                return None;
            }
            tokens += 1;
            at.touched = true;
        }
        if let Some(most) = self.max_chars {
            if begins_char && chars >= most {
                return None;
            }
            chars += u32::from(begins_char);
        }
        if self.utf8 {
            at.inside = utf8(at.inside, byte)?;
        }
        if at.bound {
            at.node = self.patterns.spell(at.node, byte)?;
            let stay = self.patterns.leads(at.node);
            return Some(Step {
                stay: stay.then_some((at.pack(), chars, tokens)),
                fires: self.patterns.own(at.node),
            });
        }
        at.node = self.patterns.step(at.node, byte)?;
        let fires = self.patterns.fires(at.node);
        at.bound = !fires.is_empty();
        let stay = fires.is_empty() || self.patterns.leads(at.node);
        Some(Step {
            stay: stay.then_some((at.pack(), chars, tokens)),
            fires,
        })
    }

    /// Tells whether the run may end there.
    pub(super) fn may_end(inner: u32) -> bool {
        let at = At::unpack(inner);
        at.inside == 0 && !at.bound
    }

    /// The shortest text that leads out of it: to its end, or behind a trigger.
    pub(super) fn rest(&self, inner: u32) -> (Vec<u8>, Option<u32>) {
        let at = At::unpack(inner);
        if at.bound {
            let rest = self.patterns.rest(at.node);
            return rest.map_or((Vec::new(), None), |(text, trigger)| {
                (text, self.fires.get(usize::from(trigger)).copied())
            });
        }
        let mut text = Vec::new();
        let mut inside = at.inside;
        while inside != 0 {
            let next = (0x80..=0xBFu8).find_map(|byte| Some((byte, utf8(inside, byte)?)));
            let Some((byte, after)) = next else { break };
            text.push(byte);
            inside = after;
        }
        (text, None)
    }
}

/// One token after another, whatever their texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tokens {
    /// Special tokens that may not come, ascending.
    pub(super) excluded: Vec<u32>,
    pub(super) least: u32,
    pub(super) most: Option<u32>,
    /// True if other tokens than special ones may come.
    pub(super) filler: Box<[u8]>,
}

impl Tokens {
    /// Between two tokens, of which the next one is not this part's.
    pub(super) const WAITS: u32 = 0;
    /// Inside of a token.
    pub(super) const INSIDE: u32 = 1;
    /// Before the first byte of a token.
    pub(super) const FRESH: u32 = 2;

    pub(super) fn step(inner: u32) -> Option<u32> {
        matches!(inner, Tokens::FRESH | Tokens::INSIDE).then_some(Tokens::INSIDE)
    }

    pub(super) fn may_end(&self, inner: u32, tokens: u32) -> bool {
        inner != Tokens::INSIDE && tokens >= self.least
    }

    pub(super) fn may_take(&self, tokens: u32) -> bool {
        self.most.is_none_or(|most| tokens < most)
    }

    /// The count after a token; no more is counted than matters.
    pub(super) fn counted(&self, tokens: u32) -> u32 {
        (tokens + 1).min(self.most.unwrap_or(self.least.max(1)))
    }
}
