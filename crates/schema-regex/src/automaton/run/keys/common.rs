//! Keys that mean the same under every schema: a value before its end depends on the demands on it,
//! wherever the schema makes them. A fingerprint stands for these (`machine/printer.rs`).
//!
//! For example, the masks in a string of `{"type": "string"}` are the same in all schemas.

use fsm_index::{Cursor, KeyLanguage};

use crate::automaton::run::config::{Config, Gap, Top, UNKNOWN, UNKNOWN_ITEM, is_kept};
use crate::automaton::run::found::NamesToCome;
use crate::automaton::run::keys::Keys;
use crate::automaton::run::keys::tag::Tag;
use crate::automaton::run::member_names;
use crate::automaton::run::object_summary;
use crate::automaton::run::scratch::Noted;

impl Keys<'_> {
    /// Appends the key of the topmost levels in words that mean the same in every
    /// schema, where they have one; see [`fsm_index::ByteAutomaton::key`].
    pub(super) fn common_at(&mut self, cursor: Cursor, depth: usize) -> Option<KeyLanguage> {
        if cursor.is_dead() {
            return None;
        }
        let config = *self.x.config(cursor);
        // Around the whole value nothing may follow its end, which only keys of values
        // tell.
        let is_told = config.stack != 0 || matches!(config.top, Top::Value { .. });
        if !is_told || is_kept(config.item) {
            return None;
        }
        let before = self.out.len();
        let Config { top, stack, item } = config;
        // The topmost level tells nothing where it is about to end.
        let is_ending = matches!(
            top,
            Top::Unit { .. } | Top::Gap(Gap::AfterMember | Gap::AfterItem, _)
        );
        let found = match item {
            _ if depth == 1 && !is_ending => self.put_common(top, stack, cursor),
            // The values that an item opens are not compared if the item differs.
            UNKNOWN_ITEM => None,
            _ => self.put_common_levels(top, stack, depth, cursor),
        };
        if found.is_none() {
            self.out.truncate(before);
            return None;
        }
        Some(KeyLanguage {
            name: "schema-regex",
            dialect: self.machine.escapes() as u32,
        })
    }

    /// Appends the key of a value, or of the place behind one, in arrays and objects that tokens
    /// cannot tell from those of other schemas.
    fn put_common_levels(
        &mut self,
        top: Top,
        stack: u32,
        depth: usize,
        cursor: Cursor,
    ) -> Option<()> {
        match top {
            Top::Value { .. }
            | Top::Number { .. }
            | Top::String { .. }
            | Top::Gap(Gap::Colon, _) => self.put_common(top, stack, cursor)?,
            Top::Unit { word, at, .. } => {
                self.out.extend([Tag::Unit as u32, word.into(), at.into()]);
            }
            Top::Gap(gap @ (Gap::AfterMember | Gap::AfterItem), space) => {
                self.out.extend([Tag::Behind as u32, gap as u32, space]);
            }
            _ => return None,
        }
        let dialect = self.machine.dialect()?;
        self.out.extend(dialect.words);
        let mut at = stack;
        let mut ended = matches!(top.gap(), Some(Gap::AfterItem));
        for _ in 1..depth {
            if at == 0 {
                break;
            }
            let top = self.x.peek(Noted::beside_masks(at));
            let frame = top.frame;
            match frame.is_object {
                true => {
                    // Classes of names are those of one schema.
                    let told = object_summary::on_top(self.machine, at, self.x);
                    let is_common = told.is_some_and(|told| told.more != NamesToCome::OfClasses);
                    (is_common && self.push_object_summary(at)).then_some(())?;
                }
                false => self.put_items(at, ended)?,
            }
            ended = false;
            at = top.below;
        }
        if at == 0 {
            self.out.push(Tag::Bottom as u32);
        }
        Some(())
    }

    /// All that an array means behind one of its items, which has `ended` or is open, where
    /// any number of them may follow, each the same.
    fn put_items(&mut self, stack: u32, ended: bool) -> Option<()> {
        let frame = self.x.peek(Noted::beside_masks(stack)).frame;
        let m = self.machine.array(frame.node)?;
        let ([thread], [member], [0, 0]) = (&*m.threads, &*m.members, self.x.slice(frame.threads))
        else {
            return None;
        };
        let [choice] = member.of(0) else { return None };
        let items = u64::from(frame.pos) + u64::from(!ended);
        let is_free = thread.max.is_none() && thread.counts.is_empty() && items >= thread.min;
        if m.unique || !is_free || choice.take != 0 {
            return None;
        }
        let item = self.print_of_start(member.node, stack)?;
        self.out
            .extend([Tag::Array as u32, thread.goal, choice.goal]);
        self.out.extend(item.words);
        Some(())
    }

    fn put_common(&mut self, top: Top, stack: u32, cursor: Cursor) -> Option<()> {
        if self.is_plain(top) {
            let keyed = self.key_of(cursor, 1);
            return keyed.then_some(());
        }
        let dialect = self.machine.dialect()?;
        self.out.push(Tag::Printed as u32);
        self.out.extend(dialect.words);
        let tallest = match top {
            Top::Value { node, set, space } => {
                self.out
                    .extend([Tag::Value as u32, space, u32::from(stack == 0)]);
                return self.put_value(node, set, stack);
            }
            Top::Number { node, set, state } => {
                let print = self.machine.print(node)?;
                self.push_number(&print.words, node, set, state);
                return Some(());
            }
            Top::String { node, set, text } => {
                let print = self.machine.print(node)?;
                let m = self.machine.string(node)?;
                self.push_string(&print.words, m, set, text);
                return Some(());
            }
            Top::Key(key) if key.is_further() && key.text == UNKNOWN => {
                self.out.extend([Tag::Key as u32, key.state]);
                self.out.extend(key.partial.packed());
                self.put_further(stack)?
            }
            Top::Gap(Gap::BeforeFurther, space) => {
                self.out.extend([Tag::BeforeFurther as u32, space]);
                self.put_further(stack)?
            }
            Top::Gap(Gap::Colon, space) => {
                let top = Noted::beside_masks(stack);
                let frame = self.x.peek(top).frame;
                let m = self.machine.object(frame.node)?;
                let goals = member_names::goals_of_member(self.machine, top, frame.member, self.x);
                self.out.extend([Tag::Colon as u32, space]);
                return self.put_value(m.member(frame.member).node, goals, stack);
            }
            _ => return None,
        };
        self.out.push(self.room_told(stack, tallest));
        Some(())
    }

    /// Appends the demands on a value of a node that was not begun.
    fn put_value(&mut self, node: u32, set: u32, stack: u32) -> Option<()> {
        let (print, near) = match self.print_of_start(node, stack) {
            Some(print) => (print, true),
            None => (self.machine.print(node)?, false),
        };
        self.out.push(u32::from(near));
        self.out.extend(print.words);
        self.push_list(set);
        if !near {
            self.out.push(self.room_told(stack, print.tallest));
        }
        Some(())
    }

    /// Appends the further names that may come and the demands on their values; returns the height
    /// of the tallest of the flattest values.
    fn put_further(&mut self, stack: u32) -> Option<u32> {
        let top = Noted::beside_masks(stack);
        let usable = member_names::usable(self.machine, top, self.x);
        let node = self.x.peek(top).frame.node;
        let m = self.machine.object(node)?;
        self.out.extend(self.machine.print_of_names(node)?.words);
        let values = self.x.list(usable.values);
        self.out.push(values.len() as u32);
        let mut tallest = 0;
        for value in values.chunks_exact(3) {
            let member = &m.classes.get(value[0] as usize)?.member;
            let print = self.machine.print(member.node)?;
            self.out.push(value[0]);
            self.out.extend(print.words);
            self.push_list(value[2]);
            tallest = tallest.max(print.tallest);
        }
        Some(tallest)
    }
}
