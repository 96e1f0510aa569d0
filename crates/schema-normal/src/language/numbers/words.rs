//! Numbers that are listed: their spellings as the smallest automaton, made from words in order
//! (Daciuk and others, 2000), so that many of them take no more than few do, each. For example,
//! `10`, `20` and `30` share the state behind their first digit.

use rustc_hash::FxHashMap;

use crate::budget::Limit;
use crate::budget::TooBig;
use crate::decimal::Decimal;
use crate::language::char_dfa::DEAD;
use crate::language::numbers::dfa::NumberDfa;
use crate::options::IntegerSpelling;

/// The columns of a row of [`NumberDfa`] in the order of their bytes, because states are numbered
/// in that order.
const COLUMNS: [u8; 12] = [10, 12, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

/// A state that is made: where its symbols lead, and whether it accepts.
type State = ([u32; 16], bool);

/// The automaton of some numbers in their plain spelling; where the flag is set an
/// integer may have one zero behind the point. `None` where integers may have any number
/// of zeros there, which no list of words has.
pub(super) fn of(
    list: &[(Decimal, bool)],
    integers: IntegerSpelling,
    limit: Limit<'_>,
) -> Result<Option<NumberDfa>, TooBig> {
    if integers == IntegerSpelling::ZeroFraction && list.iter().any(|(d, _)| d.is_integer()) {
        return Ok(None);
    }
    let mut words: Vec<String> = Vec::with_capacity(list.len());
    for (number, written) in list {
        let plain = number.plain();
        limit.charge(8 + 2 * plain.len())?;
        if *written && number.is_integer() {
            words.push(format!("{plain}.0"));
        }
        words.push(plain);
    }
    words.sort_unstable();
    words.dedup();
    smallest(&words, limit).map(Some)
}

/// The smallest automaton of some words, which are in order.
fn smallest(words: &[String], limit: Limit<'_>) -> Result<NumberDfa, TooBig> {
    let mut made: Vec<State> = Vec::new();
    let mut known: FxHashMap<State, u32> = FxHashMap::default();
    // The states of the word before that may still change, each with the symbol to it.
    let mut path: Vec<(u8, State)> = vec![(0, ([DEAD; 16], false))];
    let mut before: &[u8] = &[];
    for word in words {
        let word = word.as_bytes();
        let shared = before.iter().zip(word).take_while(|(a, b)| a == b).count();
        settle(&mut path, shared, &mut made, &mut known, limit)?;
        for byte in &word[shared..] {
            path.push((column(*byte), ([DEAD; 16], false)));
        }
        if let Some((_, last)) = path.last_mut() {
            last.1 = true;
        }
        limit.charge(word.len())?;
        before = word;
    }
    settle(&mut path, 0, &mut made, &mut known, limit)?;
    let Some((_, start)) = path.pop().filter(|_| !words.is_empty()) else {
        return Ok(NumberDfa::of_rows(Vec::new(), Vec::new()));
    };
    Ok(breadth_first(start, &made))
}

/// Gives up changing the states behind so many symbols: each becomes the one like it, if
/// there is one.
fn settle(
    path: &mut Vec<(u8, State)>,
    keep: usize,
    made: &mut Vec<State>,
    known: &mut FxHashMap<State, u32>,
    limit: Limit<'_>,
) -> Result<(), TooBig> {
    while path.len() > keep + 1 {
        let Some((symbol, state)) = path.pop() else {
            break;
        };
        limit.charge(8)?;
        let fresh = made.len() as u32;
        let id = *known.entry(state).or_insert(fresh);
        if id == fresh {
            if made.len() >= limit.states {
                return Err(TooBig);
            }
            made.push(state);
        }
        if let Some((_, above)) = path.last_mut() {
            above.0[symbol as usize] = id;
        }
    }
    Ok(())
}

fn column(byte: u8) -> u8 {
    match byte {
        b'-' => 10,
        b'.' => 12,
        digit => digit.wrapping_sub(b'0') & 15,
    }
}

/// The states numbered breadth first, as those of other automata of numbers are.
fn breadth_first(start: State, made: &[State]) -> NumberDfa {
    let mut number = vec![DEAD; made.len()];
    let mut reached: Vec<u32> = Vec::new();
    let mut rows: Vec<[u32; 16]> = Vec::with_capacity(made.len() + 1);
    let mut accept = Vec::with_capacity(made.len() + 1);
    let mut at = Some(start);
    while let Some((row, accepts)) = at {
        let mut out = [DEAD; 16];
        for column in COLUMNS {
            let to = row[column as usize];
            if to != DEAD {
                let id = &mut number[to as usize];
                if *id == DEAD {
                    reached.push(to);
                    *id = reached.len() as u32;
                }
                out[column as usize] = *id;
            }
        }
        rows.push(out);
        accept.push(accepts);
        at = reached.get(rows.len() - 1).map(|id| made[*id as usize]);
    }
    NumberDfa::of_rows(rows, accept)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::language::char_dfa::CharDfa;
    use crate::language::re::Re;

    /// The words themselves, and no more states than the automaton of an expression has.
    #[test]
    fn words_are_those_of_an_expression() {
        let mut seed = 3u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(11);
            (seed >> 33) % below
        };
        for round in 0..200 {
            let count = random(12);
            let list: Vec<(Decimal, bool)> = (0..count)
                .map(|_| {
                    let sign = if random(3) == 0 { "-" } else { "" };
                    let text = format!("{sign}{}e-{}", random(300), random(3));
                    (Decimal::parse(&text).unwrap(), random(2) == 0)
                })
                .collect();
            let made = of(&list, IntegerSpelling::Plain, 1_000.into())
                .unwrap()
                .unwrap();
            let words = list.iter().flat_map(|(d, written)| {
                let zero = (*written && d.is_integer()).then(|| format!("{}.0", d.plain()));
                [Some(d.plain()), zero].into_iter().flatten()
            });
            let words: BTreeSet<String> = words.collect();
            let re = Re::alt(words.iter().map(|word| Re::literal(word)));
            let plain = NumberDfa::new(&CharDfa::new(&[(&re, true)], 10_000).unwrap());
            let (rows, accept) = made.tables();
            let mut read = BTreeSet::new();
            let mut todo: Vec<(u32, String)> = rows
                .first()
                .map(|_| (0, String::new()))
                .into_iter()
                .collect();
            while let Some((state, text)) = todo.pop() {
                if accept[state as usize] {
                    read.insert(text.clone());
                }
                for byte in b"0123456789-.+eE" {
                    let to = made.step(state, *byte);
                    if to != DEAD {
                        todo.push((to, format!("{text}{}", char::from(*byte))));
                    }
                }
            }
            assert_eq!(read, words, "round {round}");
            assert!(
                rows.len() <= plain.tables().0.len(),
                "round {round}: not the smallest"
            );
        }
    }

    #[test]
    fn states_and_work_are_bounded() {
        let list: Vec<(Decimal, bool)> = (0..100)
            .map(|i| (Decimal::parse(&(i * i).to_string()).unwrap(), false))
            .collect();
        assert!(of(&list, IntegerSpelling::Plain, 20.into()).is_err());
        let budget = crate::budget::Budget::new(5);
        let limit = Limit::new(1_000, &budget);
        assert!(of(&list, IntegerSpelling::Plain, limit).is_err() && budget.is_spent());
    }
}
