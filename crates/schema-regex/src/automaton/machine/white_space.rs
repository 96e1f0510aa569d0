//! The whitespace between JSON's tokens.
//!
//! For example, with [`Whitespace::SingleSpace`](crate::Whitespace::SingleSpace) a space may come behind `:` and `,` alone.

use schema_normal::Error;
use schema_normal::language::char_dfa::{CharDfa, DEAD};
use schema_normal::language::white_space::{self, Admitted};
use schema_normal::options::Options;

/// All places in one table: a state says which whitespace may still come.
#[derive(Debug)]
pub(crate) struct Space {
    next: Vec<[u32; 4]>,
    accept: Vec<bool>,
    /// After `,` and `:`.
    pub(crate) after_separator: u32,
    /// Elsewhere inside the value.
    pub(crate) elsewhere: u32,
}

/// No whitespace: the state around the whole value, the first because it is always there.
pub(crate) const NO_SPACE: u32 = 0;

impl Space {
    pub(crate) fn new(options: &Options) -> Result<Space, Error> {
        // Mostly there are three states.
        let mut space = Space {
            next: Vec::with_capacity(3),
            accept: Vec::with_capacity(3),
            after_separator: NO_SPACE,
            elsewhere: NO_SPACE,
        };
        space.next.push([DEAD; 4]);
        space.accept.push(true);
        match white_space::admitted(&options.whitespace)? {
            Admitted::Nothing => {}
            blank @ (Admitted::Blank | Admitted::OneBlank) => {
                space.next.push([2, DEAD, DEAD, DEAD]);
                space.next.push([DEAD; 4]);
                space.accept.push(matches!(blank, Admitted::Blank));
                space.accept.push(true);
                space.after_separator = 1;
            }
            Admitted::UpTo(most) => {
                for i in 1..=most {
                    space.next.push([i + 1; 4]);
                    space.accept.push(true);
                }
                space.next.push([DEAD; 4]);
                space.accept.push(true);
                space.after_separator = 1;
                space.elsewhere = 1;
            }
            Admitted::All(re) => {
                let dfa = CharDfa::new(&[(&re, true)], options.max_automaton_states)
                    .map_err(|_| white_space::too_large(&options.whitespace))?;
                for s in 0..dfa.states() as u32 {
                    let mut row = [DEAD; 4];
                    for (slot, c) in row.iter_mut().zip(b" \t\n\r") {
                        let to = dfa.step(s, u32::from(*c));
                        if to != DEAD {
                            *slot = to + 1;
                        }
                    }
                    space.next.push(row);
                    space.accept.push(dfa.accepts(s));
                }
                space.after_separator = 1;
                space.elsewhere = 1;
            }
        }
        Ok(space)
    }

    /// Returns the states that each state leads to by each character, and whether each may end.
    pub(crate) fn tables(&self) -> (&[[u32; 4]], &[bool]) {
        (&self.next, &self.accept)
    }

    /// The state after one more whitespace character.
    pub(crate) fn step(&self, state: u32, byte: u8) -> Option<u32> {
        let slot = match byte {
            b' ' => 0,
            b'\t' => 1,
            b'\n' => 2,
            b'\r' => 3,
            _ => return None,
        };
        let to = self.next[state as usize][slot];
        (to != DEAD).then_some(to)
    }

    /// Tells whether the whitespace may end here.
    pub(crate) fn may_end(&self, state: u32) -> bool {
        self.accept[state as usize]
    }

    /// A shortest way to an end, which every state has; for completions.
    pub(crate) fn finish(&self, state: u32) -> Vec<u8> {
        let mut from: Vec<Option<(u32, u8)>> = vec![None; self.next.len()];
        let mut queue = std::collections::VecDeque::from([state]);
        let mut seen = vec![false; self.next.len()];
        seen[state as usize] = true;
        while let Some(s) = queue.pop_front() {
            if self.accept[s as usize] {
                let mut text = Vec::new();
                let mut at = s;
                while let Some((before, byte)) = from[at as usize] {
                    text.push(byte);
                    at = before;
                }
                text.reverse();
                return text;
            }
            for (slot, byte) in b" \t\n\r".iter().enumerate() {
                let to = self.next[s as usize][slot];
                if to != DEAD && !seen[to as usize] {
                    seen[to as usize] = true;
                    from[to as usize] = Some((s, *byte));
                    queue.push_back(to);
                }
            }
        }
        Vec::new()
    }
}
