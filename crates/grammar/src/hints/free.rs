//! Text that may come whatever it is.
//!
//! For example, behind `"` of a string any letters may come, of which a walk has to try none.

use foldhash::fast::FixedState;
use fsm_index::{Behind, ByteSet, ClassId, FreeText};
use indexmap::IndexSet;

use crate::compile::class_set::ClassSet;
use crate::hints::counted::counted_from;
use crate::hints::finder::{LEAST_CHARS, MAX_PLACES, MAX_PLACES_OF_TERMINALS, most};
use crate::hints::known::{CharsBetween, Free, Known};
use crate::hints::leading::{BEYOND_ASCII, class_of};
use crate::hints::text::{AskedLevels, Hints};
use crate::hints::values;
use crate::machine::Machine;
use crate::run::configs::Thread;
use crate::run::lexes::Lexes;

/// So often a character is repeated to find a loop, because few keywords have one character more often
/// in a row.
const MOST_AGAIN: usize = 3;

/// The most classes of bytes that are tried as [detours](with_detours), because a text has few characters with a meaning of
/// their own, such as a backslash.
const MOST_DETOURS: usize = 8;

/// The most states that they lead to, because a word that must not follow has a dozen letters at most.
const MOST_MET: usize = 16;

/// Returns text of a class, of any length.
pub(super) fn any_text(class: ClassId) -> FreeText {
    FreeText {
        class,
        chars: usize::MAX,
        behind: Behind::ItsClass,
        ends: false,
    }
}

impl Free {
    /// Returns it as automata say it.
    pub(super) fn text(self) -> FreeText {
        FreeText {
            chars: self.chars,
            ends: self.ends,
            ..any_text(self.class)
        }
    }

    /// Tells whether it has more characters than another one; of as many, whether more of them may come.
    fn is_more(&self, other: &Free) -> bool {
        (self.count, self.chars) > (other.count, other.chars)
    }
}

impl Hints<'_> {
    /// Returns the class of which any text may come where a lexeme that has begun, or may begin,
    /// takes it.
    pub(crate) fn free_text(&mut self, config: u32, levels: AskedLevels) -> Option<FreeText> {
        let machine = self.machine;
        if let Some(mut value) = values::sure_value(machine, self.caches, config) {
            return (!value.ends()).then(|| value.free_text())?;
        }
        if let Some(words) = self.free_words(config, levels) {
            return Some(any_text(words.class));
        }
        let threads = self.caches.configs().threads(config).to_vec();
        let mut best: Option<Free> = None;
        for &thread in threads.iter().filter(|thread| !thread.is_in_json()) {
            if machine.checks_live() && !self.is_all_safe_behind(thread) {
                return None;
            }
            let free = free_of_lex(thread.place, machine, self.caches.lexes_mut(), self.known);
            if let Some(free) = free
                && best.is_none_or(|best| free.is_more(&best))
            {
                best = Some(free);
            }
        }
        let best = best.map(|best| Free {
            // Other lexemes may lead on further.
            ends: best.ends && threads.len() == 1,
            ..best
        })?;
        // Under greedy lexing a lazy lexeme cuts all others short where it ends.
        let proof = machine.proof();
        let may_be_cut = machine.is_greedy() && (proof.has_lazy || proof.has_unsure());
        if !may_be_cut {
            return Some(best.text());
        }
        let lex = |thread: &Thread| (!thread.is_in_json()).then_some(thread.place);
        let places: Option<Vec<u32>> = threads.iter().map(lex).collect();
        let free = open_text(best, &places?, machine, self.caches.lexes_mut(), self.known);
        free.map(Free::text)
    }

    /// Tells whether no lexeme that has begun in a place may end where nothing can follow.
    fn is_all_safe_behind(&self, thread: Thread) -> bool {
        let stacks = self.caches.stacks();
        let Thread { place, front } = thread;
        let is_safe = |&state: &u32| {
            let terminal = self.machine.lexer().terminal[state as usize];
            // Such text may become narrow.
            let is_ignored = self.machine.cfg().is_ignored(terminal);
            stacks.is_safe_at(front, state, self.machine)
                && (!is_ignored || stacks.behind_narrow(front, self.machine) == Some(true))
        };
        self.caches.lexes()[place].members.iter().all(is_safe)
    }
}

/// Returns a class of which any text leads on from some state of a set. Walks ask it at many nodes.
pub(super) fn free_of_lex(
    lex: u32,
    machine: &Machine,
    lexes: &mut Lexes,
    known: &mut Known,
) -> Option<Free> {
    let at = lex as usize;
    if let Some(Some(free)) = known.free_of.get(at) {
        return *free;
    }
    let members = lexes[lex].members.iter().copied();
    let best = freest_or_counted(members, machine, known).map(|free| Free {
        // Other lexemes may lead on further.
        ends: free.ends && lexes[lex].members.len() == 1,
        ..free
    });
    let best = best.and_then(|free| open_text(free, &[lex], machine, lexes, known));
    if known.free_of.len() <= at {
        known.free_of.resize(at + 1, None);
    }
    known.free_of[at] = Some(best);
    best
}

/// The same, of the states of lexemes alone that are not ignored; no lexeme is lazy.
pub(super) fn free_of_unignored(
    lex: u32,
    machine: &Machine,
    lexes: &mut Lexes,
    known: &mut Known,
) -> Option<Free> {
    let is_ignored = |state: u32| {
        let terminal = machine.lexer().terminal[state as usize];
        machine.cfg().is_ignored(terminal)
    };
    let members = lexes[lex].members.iter().copied();
    let members = members.filter(|&state| !is_ignored(state));
    let best = freest_or_counted(members, machine, known).map(|free| Free {
        ends: false,
        ..free
    });
    best.and_then(|free| open_text(free, &[lex], machine, lexes, known))
}

/// Returns the text of the larger class that [stays open](stays_open) behind all of some sets.
fn open_text(
    free: Free,
    places: &[u32],
    machine: &Machine,
    lexes: &mut Lexes,
    known: &mut Known,
) -> Option<Free> {
    let mut is_open = |class: ClassId, known: &mut Known| {
        let mut places = places.iter();
        places.all(|&lex| stays_open(lex, class, machine, lexes, known))
    };
    if is_open(free.class, known) {
        return Some(free);
    }
    let class = in_loop(free, machine, known)?;
    is_open(class, known).then_some(Free { class, ..free })
}

/// Returns the class with the most characters that lead on from a state, however many come: the first of several.
pub(super) fn freest(
    states: impl Iterator<Item = u32>,
    machine: &Machine,
    known: &mut Known,
) -> Option<Free> {
    most_of(states.filter_map(|state| free_from(state, machine, known)))
}

/// The same, of states from which so many characters at most lead on, too.
fn freest_or_counted(
    states: impl Iterator<Item = u32>,
    machine: &Machine,
    known: &mut Known,
) -> Option<Free> {
    most_of(states.filter_map(|state| {
        let free = free_from(state, machine, known);
        free.or_else(|| counted_from(state, machine, known))
    }))
}

fn most_of(all: impl Iterator<Item = Free>) -> Option<Free> {
    all.reduce(|best, other| match other.is_more(&best) {
        true => other,
        false => best,
    })
}

/// Tells whether no lazy lexeme ends in text of a class from some states on, and all of it can be
/// finished.
fn stays_open(
    lex: u32,
    class: ClassId,
    machine: &Machine,
    lexes: &mut Lexes,
    known: &mut Known,
) -> bool {
    if !machine.proof().has_lazy && !machine.proof().has_unsure() {
        return true;
    }
    if let Some(&known) = known.stay_open.get(&(lex, class)) {
        return known;
    }
    let mut states = lexes[lex].members.iter();
    if states.all(|&state| is_untroubled(state, machine, known)) {
        return true;
    }
    let classes = byte_classes(class, machine);
    let mut met: IndexSet<u32, FixedState> = IndexSet::default();
    met.insert(lex);
    let mut at = 0;
    let mut is_open = true;
    while is_open && let Some(&from) = met.get_index(at) {
        at += 1;
        let own = &lexes[from];
        is_open = own.lazy.is_empty() && !own.is_unsure() && met.len() <= MAX_PLACES;
        met.extend(lexes.ways(from, &classes, machine));
    }
    // Text that stays open behind a set does so behind all to which it leads.
    met.truncate(if is_open { met.len() } else { 1 });
    known.bytes += 24 * met.len();
    let told = met.into_iter().map(|met| ((met, class), is_open));
    known.stay_open.extend(told);
    is_open
}

/// Returns the classes of bytes with which a terminal's states are stepped in text of a class.
pub(super) fn byte_classes(class: ClassId, machine: &Machine) -> ClassSet {
    let ranges = machine.classes().get(class);
    let has = |byte: u8| {
        // Which characters the bytes of others may be is not looked at.
        let is_in = |range: &(u32, u32)| (range.0..=range.1).contains(&u32::from(byte));
        byte >= 0x80 || ranges.iter().any(is_in)
    };
    let bytes = (0..=255).filter(|&byte| has(byte));
    let classes = bytes.map(|byte: u8| machine.lexer().classes[usize::from(byte)]);
    classes.map(usize::from).collect()
}

/// Tells whether a terminal is that of a lazy lexeme that ends in a state, or is unsure there together with others.
fn is_trouble(state: u32, machine: &Machine) -> bool {
    let lexer = machine.lexer();
    let terminal = &machine.cfg().terminals[lexer.terminal[state as usize] as usize];
    let is_cut = lexer.accepting[state as usize] && terminal.is_lazy;
    is_cut || machine.proof().may_be_unsure(state)
}

/// Tells whether there is no such state that a terminal can come to from a state: then any text stays open in every set, of
/// which there are more than states.
fn is_untroubled(state: u32, machine: &Machine, known: &mut Known) -> bool {
    let lexer = machine.lexer();
    let troubled = known.troubled.get_or_insert_with(|| {
        let mut troubled = vec![false; machine.cfg().terminals.len()];
        for state in (1..lexer.terminal.len() as u32).filter(|&state| is_trouble(state, machine)) {
            troubled[lexer.terminal[state as usize] as usize] = true;
        }
        troubled.into()
    });
    if !troubled[lexer.terminal[state as usize] as usize] {
        return true;
    }
    if let Some(&known) = known.untroubled.get(&state) {
        return known;
    }
    let mut met = vec![state];
    let mut is_met = vec![false; lexer.terminal.len()];
    is_met[state as usize] = true;
    let mut at = 0;
    let mut is_free = true;
    while is_free && let Some(&from) = met.get(at) {
        at += 1;
        is_free = !is_trouble(from, machine);
        for (_, to) in lexer.ways(from) {
            if !std::mem::replace(&mut is_met[to as usize], true) {
                met.push(to);
            }
        }
    }
    let told = match is_free {
        true => met,
        false => vec![state],
    };
    known.bytes += 16 * told.len();
    let told = told.into_iter().map(|state| (state, is_free));
    known.untroubled.extend(told);
    is_free
}

/// Returns a class of which any text leads on from a state of a terminal.
pub(super) fn free_from(state: u32, machine: &Machine, known: &mut Known) -> Option<Free> {
    if let Some(&known) = known.free_from.get(&state) {
        return known;
    }
    let free = loop_of(state, machine).and_then(|to| free_into(state, to, machine, known));
    known.bytes += 24;
    known.free_from.insert(state, free);
    free
}

/// Returns the class of characters that lead from a state to where any text leads on that leads back to
/// the state of a loop. For example, behind `i` of a name that is not `if` a letter leads to the loop or
/// to `if`, and any letters lead on from there.
fn free_into(state: u32, to: u32, machine: &Machine, known: &mut Known) -> Option<Free> {
    let lexer = machine.lexer();
    let mut left = MAX_PLACES_OF_TERMINALS;
    let mut leads = |class: usize| {
        let [one, other] = [state, to].map(|state| lexer.row(state)[class]);
        follows(one, other, to, machine, known, &mut left)
    };
    let mut ascii = 0;
    for (classes, _) in lexer.ways(to).filter(|way| way.1 == to) {
        for class in classes {
            let own = lexer.sets[class].ascii();
            if own != 0 && leads(class) {
                ascii |= own;
            }
        }
    }
    if (ascii.count_ones() as usize) < LEAST_CHARS {
        return None;
    }
    // Beyond ASCII most states lead on as the loop does: those in keywords, say.
    let mut beyond = lexer.ways(to).flat_map(|way| way.0);
    let from = match beyond.all(|class| !lexer.sets[class].meets(BEYOND_ASCII) || leads(class)) {
        true => to,
        false => state,
    };
    let leading = CharsBetween {
        ascii,
        from: (from, to),
        to,
    };
    let ascii = with_detours(ascii, state, to, machine);
    Some(Free {
        class: class_of(CharsBetween { ascii, ..leading }, machine, known)?,
        count: ascii.count_ones() as usize,
        chars: usize::MAX,
        ends: false,
        leading,
    })
}

/// Returns some characters of ASCII that lead from a state and that of a loop to the latter, with others behind which all of
/// them lead on: for example, with `e` where text may have no `else` before a blank.
fn with_detours(ascii: u128, state: u32, to: u32, machine: &Machine) -> u128 {
    let lexer = machine.lexer();
    let has_ascii = |class: &usize| lexer.sets[*class].ascii() != 0;
    let is_in = |class: &usize| lexer.sets[*class].ascii() & ascii != 0;
    let all = lexer.ways(to).flat_map(|way| way.0).filter(has_ascii);
    let (mut chars, others): (Vec<usize>, Vec<usize>) = all.partition(is_in);
    if others.is_empty() || others.len() > MOST_DETOURS {
        return ascii;
    }
    let beyond: Vec<usize> = (0..lexer.width())
        .filter(|&class| lexer.sets[class].meets(BEYOND_ASCII))
        .collect();
    // A character beyond ASCII leads back to the loop from all of them, if it does so from one.
    let may_be_met = |at: u32| {
        let [own, of_loop] = [at, to].map(|at| lexer.row(at));
        let is_alike = |&class: &usize| of_loop[class] == 0 || own[class] == of_loop[class];
        at != 0 && !lexer.is_trap(at) && beyond.iter().all(is_alike)
    };
    let mut met: IndexSet<u32, FixedState> = IndexSet::from_iter([to, state]);
    for other in others {
        let before = met.len();
        chars.push(other);
        let mut at = 0;
        let mut leads_on = true;
        while leads_on && let Some(&from) = met.get_index(at) {
            // The places before lead on with the characters before.
            let first = if at < before { chars.len() - 1 } else { 0 };
            at += 1;
            let ways = chars[first..].iter().map(|&class| lexer.row(from)[class]);
            met.extend(ways.filter(|&way| way != to));
            leads_on = met.len() <= MOST_MET && met[at - 1..].iter().all(|&way| may_be_met(way));
        }
        if !leads_on {
            chars.pop();
            met.truncate(before);
        }
    }
    let own = chars.iter().map(|&class| lexer.sets[class].ascii());
    own.fold(ascii, |all, own| all | own)
}

/// Returns the state of a terminal to which most characters of ASCII lead, and back, if they come
/// again and again.
fn loop_of(state: u32, machine: &Machine) -> Option<u32> {
    let lexer = machine.lexer();
    let into_loop = |class: usize, first: u32| {
        let mut at = first;
        for _ in 0..MOST_AGAIN {
            match lexer.row(at)[class] {
                to if to == at => return at,
                to => at = to,
            }
        }
        0
    };
    let ways = lexer.ways(state);
    let ways = ways.flat_map(|(classes, to)| classes.map(move |class| (class, to)));
    let loops = ways.filter_map(|(class, first)| {
        let chars = lexer.sets[class].ascii().count_ones() as usize;
        (chars > 0).then(|| (into_loop(class, first), chars))
    });
    let (to, count) = most(loops)?;
    (count >= LEAST_CHARS).then_some(to)
}

/// Tells whether any text leads on from one state that leads from another one back to the state of a
/// loop. `left` is the number of pairs that may still be looked at.
fn follows(
    one: u32,
    other: u32,
    to: u32,
    machine: &Machine,
    known: &mut Known,
    left: &mut usize,
) -> bool {
    let lexer = machine.lexer();
    let is_alive = |state: u32| state != 0 && !lexer.is_trap(state);
    if one == other || !is_alive(one) {
        return is_alive(one);
    }
    if let Some(&known) = known.follows.get(&((one, other), to)) {
        return known;
    }
    let mut met: IndexSet<(u32, u32), FixedState> = IndexSet::default();
    met.insert((one, other));
    let mut at = 0;
    let mut is_one = true;
    while is_one && let Some(&(one, other)) = met.get_index(at) {
        at += 1;
        if *left == 0 {
            return false;
        }
        *left -= 1;
        let mut turns = *lexer.turns(one);
        turns.or(lexer.turns(other));
        let (row, behind) = (lexer.row(one), lexer.row(other));
        for class in turns.iter().filter(|&class| row[class] != behind[class]) {
            let (one, behind) = (row[class], behind[class]);
            let end = turns.next_from(class + 1).unwrap_or(row.len());
            let is_beyond = |bytes: &ByteSet| bytes.meets(BEYOND_ASCII);
            // A character of one byte counts if it leads back.
            let counts =
                || other != to || behind == to || lexer.sets[class..end].iter().any(is_beyond);
            if behind != 0 && counts() {
                let pair = (one, behind);
                match known.follows.get(&(pair, to)) {
                    Some(&known) => is_one &= known,
                    None => {
                        is_one &= is_alive(one);
                        met.insert(pair);
                    }
                }
            }
        }
    }
    // If all texts lead on from a state, they do so from all to which they lead.
    met.truncate(if is_one { met.len() } else { 1 });
    known.bytes += 24 * met.len();
    let told = met.into_iter().map(|pair| ((pair, to), is_one));
    known.follows.extend(told);
    is_one
}

/// Returns the class of the characters of some text that lead into the loop, where others are in it as well.
pub(super) fn in_loop(free: Free, machine: &Machine, known: &mut Known) -> Option<ClassId> {
    class_of(free.leading, machine, known).filter(|&class| class != free.class)
}
