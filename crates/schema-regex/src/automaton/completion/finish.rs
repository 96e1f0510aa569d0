//! Completions: a short text from a state to acceptance. At each place where
//! something has to be chosen, one thread is followed and what it lacks is
//! written: scalars before containers, flat containers before tall ones.

use std::collections::{HashMap, VecDeque};

use crate::automaton::SchemaAutomaton;
use crate::automaton::machine::live::{Live, ObjectAt};
use crate::automaton::machine::node::{Choice, EMPTY, NO_CLASS, ObjectMachine, StringMachine};
use crate::automaton::machine::white_space::NO_SPACE;
use crate::automaton::run::scratch::{
    Config, EMPTY_LIST, Gap, Key, Noted, Scratch, Str, Top, UNKNOWN,
};
use crate::automaton::run::step::UNITS;
use crate::automaton::run::string_bytes::Partial;
use crate::automaton::run::string_leaves::string_goals;
use crate::language::char_dfa::{CharDfa, DEAD};

/// The most states that are looked at for one string or number.
const MAX_SEARCH: usize = 200_000;

/// The most states that are looked at for a name that is wanted, before any
/// other one is taken.
const MAX_WANTED: usize = 5_000;

/// Of a string that lacks more characters than this, most are written one like the other,
/// and only the last ones are searched for.
const MANY_CHARS: u64 = 256;

/// So many characters are searched for.
const LAST_CHARS: u64 = 64;

/// So many names, or values of a list, are looked through in the time of a state.
const AS_A_STATE: u64 = 64;

/// So many characters are tried, each in one alternative, in the time of a state.
const TRIED_AS_A_STATE: u64 = 1_024;

/// So many characters are tried in a name in the time of a state: each is read by itself.
const HEADS_AS_A_STATE: u64 = 32;

/// Behind fewer further names than this, another one is searched for.
const FEW_NAMES: usize = 16;

/// So many steps of a completion take the time of a state that is searched.
const STEPS_A_STATE: u64 = 4;

/// So many bytes of a text that is known are read in the time of a state.
const BYTES_AS_A_STATE: u64 = 64;

/// The most detours of a completion, one byte each that is found by trying.
const MAX_DETOURS: usize = 10_000;

impl SchemaAutomaton {
    /// Writes a text that leads to acceptance; `false` if it would have more than `most`
    /// bytes, or none was found.
    pub(crate) fn finish(
        &self,
        first: Config,
        most: usize,
        x: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> bool {
        let start = out.len();
        let mut config = first;
        let (mut detours, mut steps) = (0, 0u64);
        // The same text with all ways open, read as far as to the last detour.
        let (mut wide, mut read) = (first, start);
        while out.len() - start <= most && x.may_compare > 0 && x.may_search > 0 {
            let length = out.len();
            if config.stack != 0 {
                let seen = x.peek(Noted::beside_masks(config.stack)).frame.seen;
                let count = x.seen.get(seen).list.len() as u64;
                x.may_search = x.may_search.saturating_sub(count / AS_A_STATE);
            }
            x.may_write = most - (length - start);
            steps += 1;
            let state = u64::from(steps.is_multiple_of(STEPS_A_STATE));
            x.may_search = x.may_search.saturating_sub(state);
            if let Some(next) = self.finish_one(config, x, out) {
                config = next;
                continue;
            }
            out.truncate(length);
            detours += 1;
            if self.has_ended(&config, x) {
                return true;
            }
            if detours > MAX_DETOURS || x.may_write == 0 {
                return false;
            }
            // The plain way is barred by items that must differ: another one,
            // which exists, of all ways that were open.
            let behind = out[read..].iter();
            let Some(here) = behind.copied().try_fold(wide, |c, b| self.next(c, b, x)) else {
                return false;
            };
            let bytes = self.bytes_to_try(&here);
            let way = bytes
                .into_iter()
                .chain(0x20..=0xFF)
                .find_map(|byte| self.next(here, byte, x).map(|next| (byte, next)));
            let Some((byte, next)) = way else {
                return false;
            };
            out.push(byte);
            (wide, read) = (next, out.len());
            config = next;
        }
        false
    }

    /// Whether the text may end here, and nothing has to be added.
    fn has_ended(&self, config: &Config, x: &mut Scratch) -> bool {
        match config.top {
            Top::End => true,
            Top::Number { node, set, state } => {
                config.stack == 0 && self.number_goals(node, set, state, x) != EMPTY_LIST
            }
            _ => false,
        }
    }

    pub(crate) fn feed(
        &self,
        config: Config,
        text: &[u8],
        x: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Option<Config> {
        let bytes = text.len() as u64;
        x.may_search = x.may_search.saturating_sub(bytes / BYTES_AS_A_STATE);
        let next = self.read_on(config, text, x).ok()?;
        out.extend_from_slice(text);
        Some(next)
    }

    /// One step nearer to the end; `None` at the end.
    pub(crate) fn finish_one(
        &self,
        config: Config,
        x: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Option<Config> {
        match config.top {
            Top::End => None,
            Top::Unit { word, at, .. } => {
                self.feed(config, &UNITS[word as usize][at as usize..], x, out)
            }
            Top::Value { space, .. } => {
                let mut white = Vec::new();
                self.space.finish(space, &mut white);
                let config = self.feed(config, &white, x, out)?;
                self.begin_value(config, x, out)
            }
            Top::Number { node, set, state } => {
                let held = self.number_goals(node, set, state, x);
                if held == EMPTY_LIST {
                    let more = self.shortest_number(config, x)?;
                    return self.feed(config, &more, x, out);
                }
                if config.stack == 0 {
                    return None;
                }
                // Whatever ends the array or object ends the number.
                self.after_number(config, x, out)
            }
            Top::String { .. } => {
                let more = self.shortest_string(config, x)?;
                self.feed(config, &more, x, out)
            }
            Top::Key(key) => {
                let more = self.shortest_name(config, key, x)?;
                self.feed(config, &more, x, out)
            }
            Top::Gap { gap, space } => {
                let mut white = Vec::new();
                self.space.finish(space, &mut white);
                let config = self.feed(config, &white, x, out)?;
                self.finish_gap(config, gap, x, out)
            }
        }
    }

    fn after_number(&self, config: Config, x: &mut Scratch, out: &mut Vec<u8>) -> Option<Config> {
        let mut white = Vec::new();
        self.space.finish(self.space.elsewhere, &mut white);
        let config = self.feed(config, &white, x, out)?;
        for byte in b"]}," {
            if let Some(next) = self.next(config, *byte, x) {
                out.push(*byte);
                if *byte == b',' {
                    return self.after_comma(next, x, out);
                }
                return Some(next);
            }
        }
        // It may not be this number again: a longer one, one spelling of each.
        let most = self.threat(&config, x).barred + 1;
        let length = out.len();
        for more in self.number_texts(&config, most, x) {
            if let Some(next) = self.feed(config, more.as_bytes(), x, out)
                && b"]},".iter().any(|b| self.next(next, *b, x).is_some())
            {
                return Some(next);
            }
            out.truncate(length);
        }
        None
    }

    fn finish_gap(
        &self,
        config: Config,
        gap: Gap,
        x: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Option<Config> {
        match gap {
            Gap::Colon => {
                let config = self.feed(config, b":", x, out)?;
                Some(self.narrowed(config, x))
            }
            Gap::ObjectStart | Gap::AfterMember => {
                if let Some(next) = self.next(config, b'}', x) {
                    out.push(b'}');
                    return Some(next);
                }
                let config = if gap == Gap::AfterMember {
                    let next = self.feed(config, b",", x, out)?;
                    let mut white = Vec::new();
                    self.space.finish(self.space.after_separator, &mut white);
                    self.feed(next, &white, x, out)?
                } else {
                    config
                };
                self.name(config, x, out)
            }
            Gap::BeforeKey | Gap::BeforeFurther => self.name(config, x, out),
            Gap::ArrayStart | Gap::AfterItem => {
                if let Some(next) = self.next(config, b']', x) {
                    out.push(b']');
                    return Some(next);
                }
                if gap == Gap::AfterItem {
                    let next = self.feed(config, b",", x, out)?;
                    return self.after_comma(next, x, out);
                }
                // The first item: its goals are those of the array itself.
                let top = x.frame(config.stack);
                let choice = self.item_choice(config.stack, x)?;
                let m = self.node(top.frame.node).array.as_ref()?;
                let member = m.members.first()?;
                let set = x.add_list(&[choice.goal]);
                let item = Top::Value {
                    node: member.node,
                    set,
                    space: NO_SPACE,
                };
                self.begin_value(
                    Config {
                        top: item,
                        ..config
                    },
                    x,
                    out,
                )
            }
        }
    }

    /// After a comma in an array or object.
    fn after_comma(&self, config: Config, x: &mut Scratch, _out: &mut Vec<u8>) -> Option<Config> {
        Some(match config.top {
            Top::Value { .. } => self.narrowed(config, x),
            _ => config,
        })
    }

    /// Before a value: with the one goal that brings a thread of the container
    /// forward.
    fn narrowed(&self, config: Config, x: &mut Scratch) -> Config {
        let Top::Value { node, set, space } = config.top else {
            return config;
        };
        if config.stack == 0 {
            return config;
        }
        let frame = x.frame(config.stack).frame;
        let choice = if frame.is_object {
            self.member_choice(config.stack, frame.member, x)
        } else {
            self.item_choice(config.stack, x)
        };
        let Some(choice) = choice else {
            return config;
        };
        let wanted = x.list(set);
        if !wanted.contains(&choice.goal) {
            return config;
        }
        let set = x.add_list(&[choice.goal]);
        Config {
            top: Top::Value { node, set, space },
            ..config
        }
    }

    /// Of the choices that keep a thread alive the one that brings most.
    fn item_choice(&self, stack: u32, x: &mut Scratch) -> Option<Choice> {
        let frame = x.frame(stack).frame;
        let m = self.node(frame.node).array.as_ref()?;
        let live = self.live(self.room(stack, x));
        let member = &m.members[(frame.pos as usize).min(m.members.len() - 1)];
        let pos = if frame.pos < m.cap {
            frame.pos + 1
        } else {
            frame.pos
        };
        let threads = x.list(frame.threads);
        let heights = &self.nodes.get(member.node as usize)?.heights;
        // What lacks least, so that each item brings it nearer; of equal ones
        // the flattest, and counts are raised only where they must be.
        let lack = |thread: u32, ext: u32| {
            let mut rest = ext;
            let mut lack = 0;
            for count in &m.threads[thread as usize].counts {
                lack += count.min.saturating_sub(rest % count.radix());
                rest /= count.radix();
            }
            lack
        };
        let nearest = threads
            .chunks_exact(2)
            .min_by_key(|pair| lack(pair[0], pair[1]))?;
        let choices = member.of(nearest[0]).iter().filter_map(|c| {
            let ext = Live::raise(m, nearest[0], nearest[1], c.take)?;
            (live.fits(member, c.goal) && live.array(m, nearest[0], ext, pos)).then_some((
                lack(nearest[0], ext),
                heights[c.goal as usize],
                ext != nearest[1],
                c,
            ))
        });
        let best = choices.min_by_key(|(lack, height, raised, _)| (*lack, *height, *raised));
        best.map(|(_, _, _, choice)| *choice)
    }

    fn member_choice(&self, stack: u32, number: u32, x: &mut Scratch) -> Option<Choice> {
        let frame = x.frame(stack).frame;
        let m = self.node(frame.node).object.as_ref()?;
        let live = self.live(self.room(stack, x));
        let threads = x.list(frame.threads);
        let first = threads.chunks_exact(2).next()?;
        let used = x.list(frame.used);
        let at = ObjectAt::of(&frame, &used, &[]);
        let member = m.member(number);
        let heights = &self.nodes.get(member.node as usize)?.heights;
        member
            .of(first[0])
            .iter()
            .filter(|c| {
                live.fits(member, c.goal) && live.object(m, first[0], first[1] | c.take, &at)
            })
            .max_by_key(|c| {
                let gain = (c.take & !first[1]).count_ones();
                (gain, u32::MAX - heights[c.goal as usize])
            })
            .copied()
    }

    /// Begins the value that comes next, with the first of its heads that may
    /// come: an item that must differ bars those that lead to no other value.
    fn begin_value(&self, config: Config, x: &mut Scratch, out: &mut Vec<u8>) -> Option<Config> {
        let Top::Value { node, set, .. } = config.top else {
            return None;
        };
        if let Some(next) = self.another_value(config, x, out) {
            return Some(next);
        }
        let (head, next) = self
            .first_bytes(node, set, x)
            .into_iter()
            .find_map(|head| self.next(config, head, x).map(|next| (head, next)))?;
        out.push(head);
        Some(next)
    }

    /// The first bytes that values may have: scalars first, then what is
    /// flattest.
    fn first_bytes(&self, node: u32, set: u32, x: &Scratch) -> Vec<u8> {
        let n = self.node(node);
        let wanted = x.list(set);
        let mut heads = Vec::new();
        if let Some(m) = &n.number
            && m.leaves.iter().any(|(goal, _)| wanted.contains(goal))
        {
            heads.extend(b"0123456789-");
        }
        if let Some(m) = &n.string
            && m.leaves.iter().any(|leaf| wanted.contains(&leaf.goal))
        {
            heads.push(b'"');
        }
        for (word, head) in b"nft".iter().enumerate() {
            if n.units[word].iter().any(|goal| wanted.contains(goal)) {
                heads.push(*head);
            }
        }
        let least = |goals: &mut dyn Iterator<Item = u32>| {
            goals
                .filter(|goal| wanted.contains(goal))
                .map(|goal| n.heights[goal as usize])
                .min()
                .unwrap_or(EMPTY)
        };
        let arrays = n.array.iter().flat_map(|m| m.threads.iter());
        let array = least(&mut arrays.map(|thread| thread.goal));
        let objects = n.object.iter().flat_map(|m| m.threads.iter());
        let object = least(&mut objects.map(|thread| thread.goal));
        heads.extend(match array <= object {
            true => b"[{",
            false => b"{[",
        });
        heads
    }

    /// Writes a whole name that brings the first thread forward.
    fn name(&self, config: Config, x: &mut Scratch, out: &mut Vec<u8>) -> Option<Config> {
        let top = x.note(config.stack);
        let frame = x.peek(top).frame;
        let m = self.node(frame.node).object.as_ref()?;
        let names = m.declared.len() as u64;
        x.may_search = x.may_search.saturating_sub(names / AS_A_STATE);
        if x.may_search == 0 {
            return None;
        }
        let usable = self.usable(top, x);
        let is_usable = |n: u32| usable.names[n as usize / 32] & (1 << (n % 32)) != 0;
        let threads = x.list(frame.threads);
        let first = threads.chunks_exact(2).next()?;
        let t = &m.threads[first[0] as usize];
        let used = x.list(frame.used);
        let is_used = |n: u32| {
            used.get(n as usize / 32)
                .is_some_and(|w| w & (1 << (n % 32)) != 0)
        };
        let offers = |n: u32| !m.declared[n as usize].of(first[0]).is_empty();
        let mut wanted: Option<u32> = None;
        for (_, n) in &t.required {
            if is_usable(*n) && !is_used(*n) {
                wanted = Some(*n);
                break;
            }
        }
        let open = t.witnesses & !first[1];
        let gives = |n: u32| {
            m.declared[n as usize]
                .of(first[0])
                .iter()
                .any(|c| c.take & open != 0)
        };
        if wanted.is_none() && open != 0 {
            wanted = (0..m.declared.len() as u32).find(|n| is_usable(*n) && gives(*n));
        }
        if wanted.is_none() {
            let implied = t
                .implies
                .iter()
                .filter(|(n, _)| is_used(*n) || t.required.iter().any(|(_, r)| r == n));
            wanted = implied
                .flat_map(|(_, list)| list.iter().copied())
                .find(|n| is_usable(*n) && !is_used(*n));
        }
        let more = u64::from(frame.count) < t.min;
        if wanted.is_none() && more && open == 0 {
            wanted = (0..m.declared.len() as u32).find(|n| is_usable(*n) && offers(*n));
        }
        if let Some(n) = wanted {
            let word = m.names.list.iter().find(|w| w.listed[0] == n)?;
            let mut text = serde_json::to_vec(&*word.text).ok()?;
            text.pop();
            text.push(b'"');
            return self.feed(config, &text, x, out);
        }
        self.another_name(config, x, out)
            .or_else(|| self.feed(config, b"\"", x, out))
    }

    /// Behind many further names of any kind the first one from their count on that is none
    /// of them: the search for one takes as many states as there are.
    fn another_name(&self, config: Config, x: &mut Scratch, out: &mut Vec<u8>) -> Option<Config> {
        let frame = x.frame(config.stack).frame;
        let m = self.node(frame.node).object.as_ref()?;
        let count = x.seen.get(frame.seen).list.len();
        if m.keys.is_some() || count < FEW_NAMES {
            return None;
        }
        let length = out.len();
        (count..count + FEW_NAMES).find_map(|number| {
            out.truncate(length);
            let next = self.feed(config, format!("\"{number}\"").as_bytes(), x, out)?;
            matches!(next.top, Top::Gap { .. }).then_some(next)
        })
    }

    fn shortest_number(&self, config: Config, x: &mut Scratch) -> Option<Vec<u8>> {
        let Top::Number { node, set, state } = config.top else {
            return None;
        };
        let m = self.node(node).number.as_ref()?;
        let step = |state: u32, byte: u8, x: &mut Scratch| -> Option<u32> {
            match self
                .next(
                    Config {
                        top: Top::Number { node, set, state },
                        stack: 0,
                        item: 0,
                    },
                    byte,
                    x,
                )?
                .top
            {
                Top::Number { state, .. } => Some(state),
                _ => None,
            }
        };
        debug_assert!(!m.dfas.is_empty());
        search(
            state,
            x,
            MAX_SEARCH,
            &mut |s, x| self.number_goals(node, set, *s, x) != EMPTY_LIST,
            &mut |s, x| {
                b"0123456789.-eE+"
                    .iter()
                    .filter_map(|b| step(*s, *b, x).map(|to| (vec![*b], to)))
                    .collect()
            },
        )
    }

    fn shortest_string(&self, config: Config, x: &mut Scratch) -> Option<Vec<u8>> {
        let Top::String { node, set, .. } = config.top else {
            return None;
        };
        let m = self.node(node).string.as_ref()?;
        let mut others: Vec<char> = m.dfas.iter().flat_map(|d| representatives(d)).collect();
        others.sort_unstable();
        others.dedup();
        let heads = |text: &Str| -> Vec<char> {
            let words = &m.words.list[text.words.lo as usize..text.words.hi as usize];
            let read = text.words.read as usize;
            let mut out: Vec<char> = words
                .iter()
                .filter_map(|w| w.text[read..].chars().next())
                .collect();
            out.dedup();
            out.extend(&others);
            // One that no word goes on with.
            let free = ('a'..=char::MAX).find(|c| !out.contains(c));
            out.extend(free);
            out
        };
        let mut filled = Vec::new();
        let mut config = config;
        while let Top::String { text, .. } = config.top {
            let missing = missing_chars(m, set, &text, x);
            if missing > x.may_write as u64 {
                // Nothing that is written would fit.
                x.may_write = 0;
                return None;
            }
            if missing <= MANY_CHARS || text.partial != Partial::None {
                break;
            }
            let many = usize::try_from(missing - LAST_CHARS).unwrap_or(usize::MAX);
            let Some(next) = self.filled(config, many, &heads(&text), x, &mut filled) else {
                break;
            };
            config = next;
        }
        let rest = search(
            config,
            x,
            MAX_SEARCH,
            &mut |c, x| match &c.top {
                Top::String { text, .. } => {
                    text.partial == Partial::None
                        && string_goals(m, set, text, x) != EMPTY_LIST
                        && self.next(*c, b'"', x).is_some()
                }
                _ => false,
            },
            &mut |c, x| {
                let Top::String { text, .. } = c.top else {
                    return Vec::new();
                };
                let heads = heads(&text);
                let tried = heads.len() as u64 * m.leaves.len() as u64;
                x.may_search = x.may_search.saturating_sub(tried / TRIED_AS_A_STATE);
                self.characters(*c, text.partial, &heads, x)
            },
        )?;
        filled.extend(rest);
        filled.push(b'"');
        Some(filled)
    }

    /// Where as many equal characters of one byte as may come lead to, up to a number;
    /// `None` if none may come.
    fn filled(
        &self,
        config: Config,
        many: usize,
        heads: &[char],
        x: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Option<Config> {
        let plain = |c: &char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
        heads.iter().filter(|c| plain(c)).find_map(|c| {
            let (mut at, mut done) = (config, 0);
            // Twice as many each time: what soon stops costs little.
            let mut more = 1;
            while done < many {
                let text = vec![*c as u8; more.min(many - done)];
                match self.read_on(at, &text, x) {
                    Ok(next) => (at, done) = (next, done + text.len()),
                    Err(0) => break,
                    Err(read) => {
                        at = self.read_on(at, &text[..read], x).ok()?;
                        done += read;
                        break;
                    }
                }
                more *= 2;
            }
            out.extend(std::iter::repeat_n(*c as u8, done));
            (done > 0).then_some(at)
        })
    }

    fn shortest_name(&self, config: Config, key: Key, x: &mut Scratch) -> Option<Vec<u8>> {
        // What was read so far makes no difference.
        let text = UNKNOWN;
        let config = Config {
            top: Top::Key(Key { text, ..key }),
            ..config
        };
        let frame = x.frame(config.stack).frame;
        let m: &ObjectMachine = self.node(frame.node).object.as_ref()?;
        let seen = x.seen.get(frame.seen).clone();
        let mut ways = |c: &Config, x: &mut Scratch| {
            let Top::Key(key) = c.top else {
                return Vec::new();
            };
            let mut heads: Vec<char> = Vec::new();
            for i in key.names.lo as usize..key.names.hi as usize {
                heads.extend(
                    m.names.list[i].text[key.names.read as usize..]
                        .chars()
                        .next(),
                );
            }
            for i in key.used.lo as usize..key.used.hi as usize {
                heads.extend(seen.list[i][key.used.read as usize..].chars().next());
            }
            heads.sort_unstable();
            heads.dedup();
            heads.truncate(64);
            if let Some(keys) = &m.keys {
                debug_assert!(key.state == DEAD || keys.class.len() > key.state as usize);
                heads.extend(representatives(&keys.dfa));
                let _ = NO_CLASS;
            }
            heads.extend('a'..='z');
            heads.extend('0'..='9');
            let tried = heads.len() as u64;
            x.may_search = x.may_search.saturating_sub(tried / HEADS_AS_A_STATE);
            self.characters(*c, key.partial, &heads, x)
        };
        let named = |c: &Config, x: &mut Scratch| {
            let ended = self.next(*c, b'"', x)?;
            matches!(ended.top, Top::Gap { .. })
                .then(|| x.peek(Noted::beside_masks(ended.stack)).frame.member)
        };
        // A further name that brings the first thread forward, else any.
        let wanted = self.classes_wanted(config.stack, x);
        let mut brings = |c: &Config, x: &mut Scratch| {
            named(c, x).is_some_and(|number| wanted.contains(&number))
        };
        let found = match wanted.is_empty() {
            true => None,
            false => search(config, x, MAX_WANTED, &mut brings, &mut ways),
        };
        let mut ends = |c: &Config, x: &mut Scratch| named(c, x).is_some();
        let mut text = match found {
            Some(text) => text,
            None => search(config, x, MAX_SEARCH, &mut ends, &mut ways)?,
        };
        text.push(b'"');
        Some(text)
    }

    /// The members, by number, that are further names and give what the first
    /// thread of an object still lacks.
    fn classes_wanted(&self, stack: u32, x: &mut Scratch) -> Vec<u32> {
        let top = x.note(stack);
        let frame = x.peek(top).frame;
        let Some(m) = self.node(frame.node).object.as_ref() else {
            return Vec::new();
        };
        let threads = x.list(frame.threads);
        let Some(first) = threads.chunks_exact(2).next() else {
            return Vec::new();
        };
        let open = m.threads[first[0] as usize].witnesses & !first[1];
        let usable = self.usable(top, x).classes;
        (0..m.classes.len())
            .filter(|class| usable & (1 << class) != 0)
            .filter(|class| {
                let choices = m.classes[*class].member.of(first[0]);
                choices.iter().any(|choice| choice.take & open != 0)
            })
            .map(|class| (m.declared.len() + class) as u32)
            .collect()
    }

    /// The ways on by one character, or by the rest of a partial one.
    fn characters(
        &self,
        config: Config,
        partial: Partial,
        heads: &[char],
        x: &mut Scratch,
    ) -> Vec<(Vec<u8>, Config)> {
        let mut texts: Vec<Vec<u8>> = Vec::new();
        match partial {
            Partial::None => {
                for c in heads {
                    let mut text = serde_json::to_vec(&c.to_string()).unwrap_or_default();
                    text.pop();
                    texts.push(text.split_off(1.min(text.len())));
                }
            }
            Partial::Utf8 { .. } => texts.extend((0x80..=0xBF).map(|b| vec![b])),
            Partial::Escape => texts.extend(b"\"\\/bfnrtu".iter().map(|b| vec![*b])),
            Partial::Hex { .. } => texts.extend(b"0123456789abcdef".iter().map(|b| vec![*b])),
            Partial::HighEscape { .. } => texts.push(vec![b'\\']),
            Partial::HighU { .. } => texts.push(vec![b'u']),
        }
        // What begins a character can be ended: the first way will do.
        let most = if partial == Partial::None {
            texts.len()
        } else {
            1
        };
        texts
            .into_iter()
            .filter_map(|text| {
                let mut at = config;
                for byte in &text {
                    at = self.next(at, *byte, x)?;
                }
                Some((text, at))
            })
            .take(most)
            .collect()
    }
}

/// How many characters a string lacks at least, by the lengths that are asked of it alone.
fn missing_chars(m: &StringMachine, set: u32, text: &Str, x: &mut Scratch) -> u64 {
    let wanted = x.list(set);
    let leaves = m.leaves.iter().filter(|leaf| wanted.contains(&leaf.goal));
    let least = leaves
        .map(|leaf| if leaf.listed { 0 } else { leaf.min })
        .min();
    least.unwrap_or(0).saturating_sub(u64::from(text.length))
}

/// A character for each symbol of an automaton, visible ones first.
fn representatives(dfa: &CharDfa) -> Vec<char> {
    dfa.representatives()
        .into_iter()
        .filter_map(char::from_u32)
        .collect()
}

/// The ways on from a state: a text, and where it leads.
type Ways<'w, S> = dyn FnMut(&S, &mut Scratch) -> Vec<(Vec<u8>, S)> + 'w;

/// Breadth first: the text to the nearest state that is an end.
fn search<S: Copy + Eq + std::hash::Hash>(
    start: S,
    x: &mut Scratch,
    most: usize,
    is_end: &mut dyn FnMut(&S, &mut Scratch) -> bool,
    next: &mut Ways<'_, S>,
) -> Option<Vec<u8>> {
    let mut from: HashMap<S, Option<(S, Vec<u8>)>> = HashMap::from([(start, None)]);
    let mut queue = VecDeque::from([start]);
    while let Some(state) = queue.pop_front() {
        if is_end(&state, x) {
            let mut parts: Vec<Vec<u8>> = Vec::new();
            let mut at = state;
            while let Some(Some((before, text))) = from.get(&at) {
                parts.push(text.clone());
                at = *before;
            }
            parts.reverse();
            return Some(parts.concat());
        }
        // A search for an item that differs, as walks make them, has limits of
        // its own.
        let is_spent = x.may_compare == 0 || x.may_search == 0;
        if from.len() > most || (is_spent && !x.searching) {
            return None;
        }
        x.may_search = x.may_search.saturating_sub(1);
        for (text, to) in next(&state, x) {
            from.entry(to).or_insert_with(|| {
                queue.push_back(to);
                Some((state, text))
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::automaton::run::scratch::MAX_SEARCHED;
    use fsm_index::ByteAutomaton as _;
    use serde_json::{Value, json};

    use super::*;
    use crate::options::Options;

    /// The completion from the start that compares at most so many bytes, whether
    /// it is finished, and how many it compared.
    fn completion(schema: &Value, may_compare: u64) -> (String, bool, u64) {
        completion_within(schema, may_compare, MAX_SEARCHED)
    }

    /// The same within so many states.
    fn completion_within(schema: &Value, may_compare: u64, may_search: u64) -> (String, bool, u64) {
        let automaton = SchemaAutomaton::new(schema, &Options::default()).unwrap();
        let mut x = automaton.scratch();
        (x.may_compare, x.may_search) = (may_compare, may_search);
        let mut out = Vec::new();
        let is_finished = automaton.finish(automaton.first(), 1 << 20, &mut x, &mut out);
        assert_eq!(is_finished, automaton.is_match(&out));
        let compared = may_compare - x.may_compare;
        (String::from_utf8(out).unwrap(), is_finished, compared)
    }

    #[test]
    fn completions_compare_no_more_than_they_may() {
        let schema = json!({"type": "array", "uniqueItems": true, "minItems": 12});
        let (_, is_finished, compared) = completion(&schema, 1 << 28);
        assert!(is_finished);
        let (_, is_finished, _) = completion(&schema, compared / 2);
        assert!(!is_finished);
    }

    /// A string of a million characters was searched for one by one, and one of more than
    /// four million ended in its middle.
    #[test]
    fn long_strings_are_written_at_once_or_refused_at_once() {
        for schema in [
            json!({"minLength": 900_000, "type": "string"}),
            json!({"minLength": 900_000, "type": "string", "pattern": "^x(a|é)*z$"}),
            json!({"anyOf": [{"minLength": 900_000, "type": "string"}, {"const": {"a": 1}}]}),
        ] {
            let (text, is_finished, _) = completion(&schema, 1 << 20);
            assert!(is_finished && text.len() > 10, "{}", text.len());
        }
        let schema = json!({"minLength": 2_000_000, "type": "string"});
        let (_, is_finished, _) = completion(&schema, 1 << 20);
        assert!(!is_finished);
    }

    /// They took half a minute, or all memory.
    #[test]
    fn completions_search_no_more_than_they_may() {
        let (_, is_finished, _) =
            completion(&json!({"minProperties": 1_000, "type": "object"}), 1 << 28);
        assert!(is_finished);
        let (_, is_finished, _) =
            completion(&json!({"type": "object", "minProperties": 50_000}), 1 << 28);
        assert!(!is_finished);
        let many = json!({"type": "array", "uniqueItems": true, "minItems": 50_000});
        let (_, is_finished, _) = completion(&many, 1 << 28);
        assert!(!is_finished);
    }

    /// A million items that count took more than a second before they were refused, and a
    /// name of three million characters before it was written.
    #[test]
    fn steps_and_known_texts_are_charged() {
        let items =
            |n: u32| json!({"type": "array", "contains": {"type": "integer"}, "minContains": n});
        assert!(completion_within(&items(500), 1 << 20, 1_000).1);
        assert!(!completion_within(&items(5_000), 1 << 20, 1_000).1);
        let name = |n: usize| json!({"type": "object", "required": ["k".repeat(n)]});
        assert!(completion_within(&name(900_000), 1 << 20, 20_000).1);
        assert!(!completion_within(&name(900_000), 1 << 20, 1_000).1);
    }

    #[test]
    fn detours_go_on_from_where_the_last_one_was() {
        // The plain way of each item but the first leads to the first again.
        let object = |a: Value| {
            json!({
                "type": "object",
                "properties": {"a": a},
                "required": ["a"],
                "additionalProperties": false,
            })
        };
        let (one, text) = (json!({"const": 1}), json!({"type": "string"}));
        let item = json!({"anyOf": [object(one), object(text)]});
        let schema = json!({"type": "array", "items": item, "uniqueItems": true, "minItems": 20});
        let (text, is_finished, compared) = completion(&schema, 1 << 28);
        assert!(is_finished, "{text}");
        // Each time from the start it would be half as much again.
        assert!(compared < 500_000, "{compared}");
    }

    #[test]
    fn a_number_is_made_another_one_by_digits() {
        let schema = json!({"type": "array", "uniqueItems": true, "minItems": 12});
        let (text, _, compared) = completion(&schema, 1 << 28);
        assert!(compared < 1_000_000, "{text}: {compared}");
    }

    #[test]
    fn numbers_that_must_differ_are_counted() {
        let schema = |least: u32, item: Value| json!({"type": "array", "uniqueItems": true, "minItems": least, "items": item});
        let (text, is_finished, compared) = completion(&schema(40, json!({})), 1 << 28);
        assert!(is_finished && compared < 100_000, "{text}: {compared}");
        for (item, wanted) in [
            (
                json!({"type": "integer", "maximum": 2, "minimum": -1}),
                "[0,1,2,-1]",
            ),
            (json!({"enum": [7, 3, 4, "a"]}), "[3,4,7,\"a\"]"),
        ] {
            let (text, is_finished, _) = completion(&schema(4, item), 1 << 20);
            assert!(is_finished);
            assert_eq!(text, wanted);
        }
    }

    #[test]
    fn a_value_begins_with_what_leads_to_another_item() {
        let schema = json!({
            "type": "array",
            "contains": {"type": "integer"},
            "minContains": 3,
            "uniqueItems": true,
        });
        let (text, is_finished, _) = completion(&schema, 1 << 20);
        assert!(is_finished);
        assert_eq!(text, "[0,1,2]");
    }
}
