//! Fingerprints of the demands on values: two nodes with one fingerprint have the same machines but
//! for collisions of 128 bits.
//!
//! For example, two schemas with `{"enum": ["a", "b"]}` have a node with the same fingerprint.

use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

use foldhash::quality::{FoldHasher, RandomState};
use fsm_tables::packed;
use schema_normal::language::char_dfa::CharDfa;
use schema_normal::language::char_dfa::lengths::Lengths;
use schema_normal::language::numbers::dfa::NumberDfa;
use schema_normal::options::Escapes;

use crate::automaton::machine::counts::Counter;
use crate::automaton::machine::node::{
    ArrayMachine, ArrayThread, Choice, EMPTY, Member, Node, NumberMachine,
};
use crate::automaton::machine::objects::{ExtraClass, KeyMachine, ObjectMachine, ObjectThread};
use crate::automaton::machine::prints::{OwnPrint, Print};
use crate::automaton::machine::strings::{Leaf, StringDemand, StringMachine, Words};
use crate::automaton::machine::white_space::Space;

/// The most numbers that a fingerprint is made of, because each schema hashes them anew: beyond,
/// keys are of this schema alone.
const MAX_WORDS: usize = 1 << 14;

/// The most nodes below one another, because each is visited once for each path to it.
pub(super) const MAX_NODES: usize = 64;

/// Two hashes of the same numbers, by which they are known. Each process has its
/// own, so that no schema can be written to look like another.
pub(super) struct Fingerprinter {
    hashes: [FoldHasher<'static>; 2],
    words: usize,
}

impl Fingerprinter {
    pub(super) fn new() -> Fingerprinter {
        /// The seeds of this process, because a schema's author must not know them.
        static SEEDS: OnceLock<[RandomState; 2]> = OnceLock::new();
        let seeds = SEEDS.get_or_init(Default::default);
        Fingerprinter {
            hashes: seeds.each_ref().map(BuildHasher::build_hasher),
            words: 0,
        }
    }

    pub(super) fn add(&mut self, word: u64) {
        self.words += 1;
        for hash in &mut self.hashes {
            hash.write_u64(word);
        }
    }

    fn option(&mut self, word: Option<u64>) {
        self.add(u64::from(word.is_some()));
        self.add(word.unwrap_or(0));
    }

    /// `None` if there are more than may be.
    fn list(&mut self, words: impl ExactSizeIterator<Item = u64>) -> Option<()> {
        if self.words + words.len() > MAX_WORDS {
            return None;
        }
        self.add(words.len() as u64);
        words.for_each(|word| self.add(word));
        Some(())
    }

    fn numbers(&mut self, numbers: &[u32]) -> Option<()> {
        self.add(numbers.len() as u64);
        let (pairs, last) = numbers.as_chunks();
        self.list(pairs.iter().map(|&[a, b]| packed(a, b)))?;
        last.iter().for_each(|&n| self.add(u64::from(n)));
        Some(())
    }

    /// A machine, if there is one.
    fn machine<T>(
        &mut self,
        machine: Option<&T>,
        print: impl FnOnce(&mut Self, &T) -> Option<()>,
    ) -> Option<()> {
        self.add(u64::from(machine.is_some()));
        machine.map_or(Some(()), |machine| print(self, machine))
    }

    fn words(&mut self, words: &Words) -> Option<()> {
        self.add(words.len() as u64);
        for word in words.iter() {
            self.list(word.text.bytes().map(u64::from))?;
            self.numbers(&word.listed)?;
            self.numbers(&word.excluded)?;
        }
        Some(())
    }

    fn chars(&mut self, dfa: &CharDfa) -> Option<()> {
        let (starts, symbols, next, labels) = dfa.tables();
        self.numbers(starts)?;
        self.numbers(symbols)?;
        self.numbers(next)?;
        self.list(labels.iter().copied())
    }

    fn digits(&mut self, dfa: &NumberDfa) -> Option<()> {
        let (next, accept) = dfa.tables();
        self.list(accept.iter().map(|&accepts| u64::from(accepts)))?;
        next.iter().try_for_each(|row| self.numbers(row))
    }

    fn number(&mut self, m: &NumberMachine) -> Option<()> {
        let NumberMachine { leaves, dfas } = m;
        self.list(
            leaves
                .iter()
                .map(|&(goal, dfa)| u64::from(goal) | u64::from(dfa) << 32),
        )?;
        dfas.iter().try_for_each(|dfa| self.digits(dfa))
    }

    fn lengths(&mut self, lengths: &Lengths) {
        // The automaton determines the rest, which need not be told.
        let (min, max) = lengths.bounds();
        self.add(min);
        self.option(max);
    }

    fn demand(&mut self, demand: &StringDemand<u32>) {
        match demand {
            StringDemand::Listed => self.add(0),
            StringDemand::Counted { min, max, excludes } => {
                self.add(1 + u64::from(*excludes));
                self.add(*min);
                self.option(*max);
            }
            StringDemand::Read {
                dfa,
                min,
                max,
                lengths,
            } => {
                self.add(3 + u64::from(lengths.is_some()));
                self.add(u64::from(*dfa));
                self.add(*min);
                self.option(*max);
                if let Some(lengths) = lengths {
                    self.lengths(lengths);
                }
            }
        }
    }

    pub(super) fn string(&mut self, m: &StringMachine) -> Option<()> {
        self.add(u64::from(m.cap));
        self.add(m.leaves.len() as u64);
        for Leaf { goal, demand } in &m.leaves {
            self.add(u64::from(*goal));
            self.demand(demand);
        }
        self.words(&m.words)?;
        // The numbers of loops are those of this schema.
        self.add(m.dfas.len() as u64);
        m.dfas.iter().try_for_each(|dfa| self.chars(dfa))
    }

    fn member(&mut self, member: &Member) {
        // The print of its node tells the demands on its value.
        let Member { node: _, options } = member;
        self.add(options.len() as u64);
        for &Choice { thread, goal, take } in options.iter() {
            self.add(u64::from(thread) | u64::from(goal) << 32);
            self.add(u64::from(take));
        }
    }

    pub(super) fn array(&mut self, m: &ArrayMachine) -> Option<()> {
        let ArrayMachine {
            threads,
            members,
            cap,
            unique,
            catalog: _,
        } = m;
        // The values of unique items are too much to tell.
        if *unique {
            return None;
        }
        self.add(u64::from(*cap));
        self.add(threads.len() as u64);
        for thread in threads {
            let ArrayThread {
                goal,
                min,
                max,
                counts,
                // The same in all threads as in the machine, which is not unique here.
                unique: _,
            } = thread;
            self.add(u64::from(*goal));
            self.add(*min);
            self.option(*max);
            self.add(counts.all().len() as u64);
            for Counter { min, max } in counts.all() {
                self.add(u64::from(*min));
                self.option(max.map(u64::from));
            }
        }
        self.add(members.len() as u64);
        members.iter().for_each(|member| self.member(member));
        Some(())
    }

    fn keys(&mut self, keys: &KeyMachine) -> Option<()> {
        let KeyMachine {
            dfa,
            // A number of this schema.
            loops: _,
            class,
            counts,
        } = keys;
        self.chars(dfa)?;
        self.numbers(class)?;
        for counts in counts {
            self.list(counts.iter().map(|c| c.map_or(0, |n| n.saturating_add(1))))?;
        }
        Some(())
    }

    fn object(&mut self, m: &ObjectMachine) -> Option<()> {
        let ObjectMachine {
            threads,
            names,
            declared,
            ordered,
            classes,
            keys,
            tracked,
            cap,
            // Told by the names.
            heads: _,
        } = m;
        self.add(u64::from(*ordered));
        self.add(u64::from(*cap));
        self.numbers(tracked)?;
        self.words(names)?;
        self.add(threads.len() as u64);
        for thread in threads {
            let ObjectThread {
                goal,
                ranks,
                required,
                min,
                max,
                implies,
                witnesses,
                decisions,
                simple,
                // Told by the ranks.
                by_number: _,
            } = thread;
            // Diagrams are much to tell.
            if decisions.is_some() {
                return None;
            }
            self.add(u64::from(*goal));
            self.numbers(ranks)?;
            self.list(
                required
                    .iter()
                    .map(|&(rank, name)| u64::from(rank) | u64::from(name) << 32),
            )?;
            self.add(*min);
            self.option(*max);
            self.add(implies.len() as u64);
            for (name, others) in implies {
                self.add(u64::from(*name));
                self.numbers(others)?;
            }
            self.add(u64::from(*witnesses) | u64::from(*simple) << 32);
        }
        self.machine(keys.as_ref(), Self::keys)?;
        self.add(classes.len() as u64);
        for ExtraClass { member, count } in classes {
            self.option(*count);
            self.member(member);
        }
        self.add(declared.len() as u64);
        declared.iter().for_each(|member| self.member(member));
        Some(())
    }

    /// Adds the demands of a node on values that are no arrays and objects.
    fn scalars(&mut self, node: &Node) -> Option<()> {
        self.units_and_numbers(node)?;
        self.machine(node.string.as_deref(), Self::string)
    }

    /// Adds the demands of a node on numbers, and on `null`, `false` and `true`.
    pub(super) fn units_and_numbers(&mut self, node: &Node) -> Option<()> {
        for goals in &node.units {
            self.numbers(goals)?;
        }
        self.machine(node.number.as_deref(), Self::number)
    }

    /// A node without what is below it; `None` if that is much.
    fn own(&mut self, node: &Node, is_any: bool) -> Option<()> {
        self.add(u64::from(is_any));
        self.add(node.goals.len() as u64);
        self.numbers(&node.heights)?;
        self.scalars(node)?;
        if is_any {
            return Some(());
        }
        self.machine(node.array.as_deref(), Self::array)?;
        self.machine(node.object.as_deref(), Self::object)
    }

    fn hashes(self) -> [u64; 2] {
        self.hashes.map(|hash| hash.finish())
    }

    pub(super) fn finish(self, tallest: u32) -> Print {
        let [a, b] = self.hashes();
        Print {
            words: [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32],
            tallest,
        }
    }
}

/// The fingerprint of a node and of all below it, of those of the single nodes.
struct Below<'a> {
    all: &'a [Node],
    printer: Fingerprinter,
    nodes: usize,
    tallest: u32,
}

impl Below<'_> {
    /// `None` if there is much, or has no end: but for values of which nothing is asked.
    fn node(&mut self, id: u32) -> Option<()> {
        let node = self.all.get(id as usize)?;
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return None;
        }
        let heights = node.heights.iter();
        let tallest = heights.copied().filter(|h| *h != EMPTY).max();
        self.tallest = self.tallest.max(tallest.unwrap_or(0));
        let is_any = node.is_any(id);
        let own = node.prints.own.get_or_init(|| {
            let mut printer = Fingerprinter::new();
            printer.own(node, is_any)?;
            Some(Box::new(OwnPrint(printer.hashes())))
        });
        let OwnPrint(own) = own.as_deref()?;
        own.iter().for_each(|word| self.printer.add(*word));
        if is_any {
            return Some(());
        }
        // The node's own print tells how many there are of each.
        let arrays = node.array.iter().flat_map(|m| &m.members);
        let classes = node.object.iter().flat_map(|m| &m.classes);
        let declared = node.object.iter().flat_map(|m| &m.declared);
        let members = arrays
            .chain(classes.map(|class| &class.member))
            .chain(declared);
        let mut nodes = members.map(|member| member.node);
        nodes.try_for_each(|node| self.node(node))
    }
}

impl Node {
    /// Tells whether arrays and objects of this very node are all that it asks of arrays and
    /// objects.
    pub(super) fn is_any(&self, id: u32) -> bool {
        let (Some(array), Some(object)) = (&self.array, &self.object) else {
            return false;
        };
        let is_self = |member: &Member| {
            let [choice] = &*member.options else {
                return false;
            };
            member.node == id && (choice.thread, choice.goal, choice.take) == (0, 0, 0)
        };
        let free_array = matches!((&*array.threads, &*array.members), ([thread], [member])
            if thread.goal == 0 && thread.min == 0 && thread.max.is_none()
                && thread.counts.is_empty() && is_self(member));
        let free_object = matches!((&*object.threads, &*object.classes), ([thread], [class])
            if thread.goal == 0 && thread.min == 0 && thread.max.is_none()
                && thread.required.is_empty() && thread.implies.is_empty()
                && thread.witnesses == 0 && thread.simple
                && class.count.is_none() && is_self(&class.member));
        free_array
            && !array.unique
            && array.cap == 0
            && free_object
            && object.names.is_empty()
            && object.keys.is_none()
            && object.cap == 0
            && self.goals.len() == 1
    }
}

/// Returns the fingerprint of the spelling of strings and of the space between JSON's tokens.
pub(super) fn dialect(space: &Space, escapes: Escapes) -> Option<Print> {
    let mut printer = Fingerprinter::new();
    let (next, accept) = space.tables();
    printer.list(accept.iter().map(|&accepts| u64::from(accepts)))?;
    for row in next {
        printer.numbers(row)?;
    }
    printer.add(u64::from(space.after_separator));
    printer.add(u64::from(space.elsewhere));
    printer.add(escapes as u64);
    Some(printer.finish(0))
}

/// The fingerprint of a node.
pub(super) fn print(all: &[Node], node: u32) -> Option<Print> {
    let print = all[node as usize].prints.whole.get_or_init(|| {
        let mut below = Below {
            all,
            printer: Fingerprinter::new(),
            nodes: 0,
            tallest: 0,
        };
        below.node(node)?;
        Some(Box::new(below.printer.finish(below.tallest)))
    });
    print.as_deref().copied()
}

/// The fingerprint of what tells apart the further names of a node.
pub(super) fn print_of_names(node: &Node) -> Option<Print> {
    let m = node.object.as_deref()?;
    let print = node.prints.names.get_or_init(|| {
        let mut printer = Fingerprinter::new();
        printer.machine(m.keys.as_ref(), Fingerprinter::keys)?;
        Some(Box::new(printer.finish(0)))
    });
    print.as_deref().copied()
}
