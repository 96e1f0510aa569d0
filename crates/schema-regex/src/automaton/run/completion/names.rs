//! Names that bring an object nearer to its end.
//!
//! For example, behind `{` of an object that requires `a` the name is `"a"`.

use crate::automaton::machine::decisions::FURTHER;
use crate::automaton::machine::progress::has_bit;
use crate::automaton::run::completion::finish::{AS_A_STATE, Finisher};
use crate::automaton::run::completion::lacking::nearest;
use crate::automaton::run::config::{Config, Top};
use crate::automaton::run::member_names;

/// Behind fewer further names than this, another one is searched for, because a search among few is
/// short and finds a shorter name.
const FEW_NAMES: usize = 16;

impl Finisher<'_> {
    /// Writes a whole name that brings the first thread forward.
    pub(super) fn name(&mut self, config: Config) -> Option<Config> {
        let top = self.x.note(config.stack);
        let frame = self.x.peek(top).frame;
        let m = self.machine.object(frame.node)?;
        let names = m.declared.len() as u64;
        self.x.allowance().search(names / AS_A_STATE);
        if !self.x.allowance().may_search() {
            return None;
        }
        let usable = member_names::usable(self.machine, top, self.x);
        let is_usable = |n: u32| has_bit(&usable.names, n);
        let threads = self.x.list(frame.threads);
        let used = self.x.list(frame.used);
        let is_used = |n: u32| has_bit(&used, n);
        let first = nearest(m, &frame, &threads, &used)?;
        let t = &m.threads[first.id as usize];
        let offers = |n: u32| !m.declared[n as usize].of(first.id).is_empty();
        let mut wanted: Option<u32> = None;
        for (_, n) in &t.required {
            if is_usable(*n) && !is_used(*n) {
                wanted = Some(*n);
                break;
            }
        }
        let open = t.witnesses & !first.progress;
        let gives = |n: u32| {
            m.declared[n as usize]
                .of(first.id)
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
        if let (None, Some(decisions)) = (wanted, &t.decisions) {
            let live = self
                .machine
                .live(self.machine.room(self.x.depth(config.stack)));
            let at = frame.object_at(&used, &[]);
            wanted = decisions
                .nearest(&live, m, &at)
                .and_then(|(_, first)| first)
                .filter(|first| *first != FURTHER);
        }
        let more = u64::from(frame.count) < t.min;
        if wanted.is_none() && more && open == 0 {
            wanted = (0..m.declared.len() as u32).find(|n| is_usable(*n) && offers(*n));
        }
        if let Some(n) = wanted {
            let word = m.names.iter().find(|w| w.listed[0] == n)?;
            let mut text = serde_json::to_vec(&*word.text).ok()?;
            text.pop();
            text.push(b'"');
            return self.feed(config, &text);
        }
        self.another_name(config)
            .or_else(|| self.feed(config, b"\""))
    }

    /// Behind many further names of any kind the first one from their count on that is none
    /// of them: the search for one takes as many states as there are.
    fn another_name(&mut self, config: Config) -> Option<Config> {
        let frame = self.x.frame(config.stack).frame;
        let m = self.machine.object(frame.node)?;
        let count = self.x.seen(frame.seen).list.len();
        if m.keys.is_some() || count < FEW_NAMES {
            return None;
        }
        let length = self.out.len();
        (count..count + FEW_NAMES).find_map(|number| {
            self.out.truncate(length);
            let next = self.feed(config, format!("\"{number}\"").as_bytes())?;
            matches!(next.top, Top::Gap(..)).then_some(next)
        })
    }
}
