//! Text that may come whatever it is, over the ends of lexemes: of letters that lead back to one configuration, or of
//! words and what stands between them, which lead from each of some configurations to one of these again.
//!
//! For example, in `(/[a-z]+/ | /[^a-z]+/)*` any text may come, though each of its words is a lexeme. Otherwise a
//! token with three words would be followed through three lexemes, and so most of a vocabulary.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use indexmap::IndexSet;

use crate::completion::live::Live;
use crate::hints::finder::{CodePoints, common, push};
use crate::hints::known::{FreeWords, TextKind};
use crate::hints::letters::{LETTERS, begins_lexemes, chain};
use crate::hints::text::{AskedLevels, Hints};
use crate::machine::{Machine, Ranges};
use crate::run::caches::Caches;
use crate::run::configs::WALK;

/// The most configurations to which such text leads, because a line that may begin with some keywords has some dozens.
const MAX_MET: usize = 64;

/// The most steps that are taken to find them, because so many take a third of a millisecond.
const MAX_STEPS: usize = 6_000;

/// The most characters of ASCII that may not come, control characters aside, because the tokens with one of them are tried.
const MAX_MISSING: usize = 15;

/// The same where lexemes are not followed at all, because where more are missing these leave fewer tokens to be tried. A search
/// ends where more are met, because the rest of it takes some milliseconds in Hedy.
const FEW_MISSING: usize = 3;

/// Words that are tried, because most tokens are such and blanks before them: the first may lead into a list, and the
/// next to its items.
const SAMPLE: [u8; 6] = *b"e t n ";

/// Characters that are tried where such words are parts of one lexeme, because most that are lexemes beside text are
/// among them.
const MARKS: [u8; 8] = *b"\n.,-(/=a";

impl Hints<'_> {
    /// Returns the text of which any leads on over the ends of lexemes, if some levels of the stacks tell so: because
    /// the answer may be asked for what one level tells, each has the height that was looked at.
    pub(super) fn free_words(&mut self, config: u32, levels: AskedLevels) -> Option<FreeWords> {
        if config & WALK != 0 {
            return None;
        }
        let found = match self.known.words.get(&config) {
            Some(&found) => found,
            None => {
                // Asking is no step of a walk.
                let least = *self.caches.least_mut();
                let found = self
                    .find_letters(config)
                    .or_else(|| self.find_words(config, MAX_MISSING));
                *self.caches.least_mut() = least;
                self.known.bytes += 32;
                self.known.words.insert(config, found);
                found
            }
        };
        let is_told = |words: &FreeWords| words.looked >= self.known.level;
        found.filter(|words| levels == AskedLevels::All || is_told(words))
    }

    /// Returns it where characters are lexemes of their own.
    fn find_letters(&mut self, config: u32) -> Option<FreeWords> {
        self.caches.least_mut().anew();
        let chain = chain(self.machine, self.caches, config)?;
        let mut looked = self.caches.least_mut().height();
        let &last = chain.last()?;
        let mut class = match self.reading(last) {
            TextKind::LoopOnTop(class) => {
                looked = looked.min(self.caches.height(last));
                class
            }
            TextKind::Loop {
                class,
                looked: least,
            } => {
                looked = looked.min(least);
                class
            }
            TextKind::Like(_) | TextKind::Other => return None,
        };
        for way in chain.windows(2) {
            let step = |this: &mut Hints<'_>, at, byte| {
                let (next, height) = this.step_and_look(at, byte);
                // A byte that leads elsewhere at once is no part of the text.
                if next == way[1] || byte >= 0x80 && next != 0 {
                    looked = looked.min(height);
                }
                (next != 0).then_some(next)
            };
            let mut found = CodePoints::default();
            let own = self.code_points(0, way[0], step, |at| at == way[1], &mut found);
            // The loop may take more, such as a mark behind a letter, which may not come here.
            let both = common(self.machine.classes().get(class), &own);
            class = self.machine.classes().id(both)?;
        }
        Some(FreeWords {
            class,
            looked,
            is_nearly_all: false,
        })
    }

    /// Tells whether nearly any text may come over the ends of lexemes, and letters are no lexemes of their own.
    pub(super) fn is_of_words(&mut self, config: u32) -> bool {
        if let Some(words) = self.known.words.get(&config) {
            return words.is_some_and(|words| words.is_nearly_all);
        }
        let has_none = config & WALK != 0 || !self.machine.is_greedy();
        if has_none || self.known.no_words.contains(&config) {
            return false;
        }
        // Asking is no step of a walk.
        let least = *self.caches.least_mut();
        let are_letters = chain(self.machine, self.caches, config).is_some();
        let words = (!are_letters).then(|| self.find_words(config, FEW_MISSING));
        *self.caches.least_mut() = least;
        let is_nearly_all = words.flatten().is_some_and(|words| words.is_nearly_all);
        if !is_nearly_all {
            self.known.bytes += 16;
            self.known.no_words.insert(config);
        }
        is_nearly_all
    }

    /// Returns it where words are, or other lexemes beside words, and so many characters are missing at most. Nothing is searched
    /// where every split counts: regular parts are lexemes there, so that prose is one, and each token of a program leads to stacks
    /// of its own. No masks of 45 such grammars are faster by a search, and those of Lisp, Bash and Go take two to four times as
    /// long.
    fn find_words(&mut self, config: u32, most_missing: usize) -> Option<FreeWords> {
        if !self.machine.is_greedy() {
            return None;
        }
        self.caches.least_mut().anew();
        if !leads_to_words(self.machine, self.caches, config) {
            return None;
        }
        let probed = self.caches.least_mut().height();
        let (words, met) = Closure::find(self, config, most_missing)?;
        let looked = words.looked.min(probed);
        let words = FreeWords { looked, ..words };
        self.known.bytes += 32 * met.len();
        // From each to which it leads the same text leads on.
        for config in met {
            self.known.words.entry(config).or_insert(Some(words));
        }
        Some(words)
    }
}

/// Tells whether words, or pieces of words, are lexemes that may come one behind another: for example, `e`, the blank
/// and `t`.
fn leads_to_words(machine: &Machine, caches: &mut Caches, config: u32) -> bool {
    let mut met = [config; SAMPLE.len() + 1];
    for (at, &byte) in SAMPLE.iter().enumerate() {
        met[at + 1] = Live::new(machine, caches).step(met[at], byte);
        let is_back = at < 4 || met[at + 1] == met[at - 1];
        if met[at + 1] == 0 || !is_back {
            return false;
        }
    }
    let mut places = met.iter().zip(SAMPLE).skip(1);
    if places.any(|(&at, byte)| begins_lexemes(machine, caches, at, byte)) {
        return true;
    }
    let last = met[SAMPLE.len()];
    MARKS.iter().any(|&mark| {
        begins_lexemes(machine, caches, last, mark) && {
            let mut live = Live::new(machine, caches);
            let mut behind = |at: u32| match live.step(at, mark) {
                0 => 0,
                next => live.step(next, LETTERS[0]),
            };
            // The first may lead into a list, and the next to its items.
            let first = behind(last);
            first != 0 && behind(first) == first
        }
    })
}

/// A search for the text that may come at one configuration.
struct Closure<'h, 'a> {
    hints: &'h mut Hints<'a>,
    /// By configuration and byte: the next one, and the least height of the stacks that was looked at.
    steps: HashMap<(u32, u8), (u32, u32), FixedState>,
    met: IndexSet<u32, FixedState>,
    /// Configurations from which some character does not lead on.
    left_out: HashSet<u32, FixedState>,
    /// The characters of ASCII that were added.
    chars: Vec<u8>,
}

impl<'h, 'a> Closure<'h, 'a> {
    /// Returns the text with the configurations to which it leads. `None` where small letters are not all in it, because
    /// most tokens consist of them, or too many others are not.
    fn find(
        hints: &'h mut Hints<'a>,
        config: u32,
        most_missing: usize,
    ) -> Option<(FreeWords, IndexSet<u32, FixedState>)> {
        let mut closure = Closure {
            hints,
            steps: HashMap::default(),
            met: IndexSet::from_iter([config]),
            left_out: HashSet::default(),
            chars: Vec::new(),
        };
        let letters = b'a'..=b'z';
        let printable = (b' '..=b'~').filter(|byte| !byte.is_ascii_lowercase());
        let others = printable.chain(*b"\n\t");
        // Most configurations can be told from others by their own steps.
        let mut leads_on = |byte| closure.step(config, byte) != 0;
        if !letters.clone().all(&mut leads_on)
            || others.clone().filter(|&byte| !leads_on(byte)).count() > most_missing
            || !letters.clone().all(|letter| closure.add(letter))
        {
            return None;
        }
        let mut missing = 0;
        for byte in others {
            missing += usize::from(!closure.add(byte));
            if missing > most_missing {
                return None;
            }
        }
        let controls =
            (0..=0x7Fu8).filter(|byte| byte.is_ascii_control() && !b"\n\t".contains(byte));
        controls.for_each(|byte| {
            closure.add(byte);
        });
        let (ranges, looked) = closure.ranges();
        // Names over all of Unicode are not looked at to their end, and then many tokens are left.
        let has_others = ranges.last().is_some_and(|last| last.1 >= 0x80);
        let words = FreeWords {
            class: closure.hints.machine.classes().id(ranges)?,
            looked,
            is_nearly_all: missing <= FEW_MISSING && has_others,
        };
        Some((words, closure.met))
    }

    /// Adds a character, if it leads on from all configurations to such as can be added.
    fn add(&mut self, byte: u8) -> bool {
        let before = self.met.len();
        self.chars.push(byte);
        let mut at = 0;
        while let Some(&from) = self.met.get_index(at) {
            let first = match at < before {
                true => self.chars.len() - 1,
                false => 0,
            };
            for char in first..self.chars.len() {
                let to = self.step(from, self.chars[char]);
                if to == 0 && at >= before {
                    self.left_out.insert(from);
                }
                if !self.may_be_met(to) {
                    self.met.truncate(before);
                    self.chars.pop();
                    return false;
                }
                self.met.insert(to);
            }
            at += 1;
        }
        true
    }

    fn may_be_met(&mut self, config: u32) -> bool {
        if config == 0 || self.left_out.contains(&config) || self.steps.len() > MAX_STEPS {
            return false;
        }
        if self.met.len() == MAX_MET && !self.met.contains(&config) {
            self.left_out.insert(config);
            return false;
        }
        true
    }

    fn step(&mut self, config: u32, byte: u8) -> u32 {
        let hints = &mut *self.hints;
        let step = self.steps.entry((config, byte));
        let step = step.or_insert_with(|| hints.step_and_look(config, byte));
        step.0
    }

    /// Returns the characters, with those beyond ASCII that lead from each configuration to such a one, and the least
    /// height of the stacks that tells it.
    fn ranges(&mut self) -> (Ranges, u32) {
        let Closure {
            hints,
            steps,
            met,
            chars,
            ..
        } = self;
        chars.sort_unstable();
        let used = met
            .iter()
            .flat_map(|&from| chars.iter().map(move |&byte| (from, byte)));
        let mut looked = used.map(|step| steps[&step].1).min().unwrap_or(u32::MAX);
        let mut found = CodePoints::default();
        let mut beyond: Option<Ranges> = None;
        for &from in &*met {
            let step = |hints: &mut Hints<'_>, at, byte| {
                let (next, height) = hints.step_and_look(at, byte);
                looked = looked.min(height);
                (next != 0).then_some(next)
            };
            let own = hints.code_points(0x80, from, step, |at| met.contains(&at), &mut found);
            beyond = Some(match beyond {
                Some(others) => common(&others, &own),
                None => own,
            });
        }
        let mut ranges = Vec::new();
        let ascii = chars.iter().map(|&byte| (u32::from(byte), u32::from(byte)));
        let beyond = beyond.iter().flat_map(|all| all.iter().copied());
        ascii
            .chain(beyond)
            .for_each(|(first, last)| push(&mut ranges, first, last));
        (ranges.into(), looked)
    }
}
