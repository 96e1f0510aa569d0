//! The work of walks, in things that they look at: edges of stacks, and lexemes that have begun.
//!
//! For example, a step behind which three stacks are reduced to ten others has looked at ten edges.
//! It is counted instead of timed, so that whoever asks for less always gets the same answer.

/// Counts work, up to a bound.
#[derive(Debug)]
pub(crate) struct Work {
    spent: u64,
    most: u64,
    /// By nonterminal: the work of its reductions, while somebody asks for it.
    by_rule: Vec<u64>,
}

impl Default for Work {
    fn default() -> Work {
        Work {
            spent: 0,
            most: u64::MAX,
            by_rule: Vec::new(),
        }
    }
}

impl Work {
    /// Begins to count work, by nonterminal as well.
    pub(crate) fn count_rules(&mut self, rules: usize) {
        self.by_rule = vec![0; rules];
    }

    /// Begins anew, with a bound.
    pub(crate) fn bound(&mut self, most: u64) {
        (self.spent, self.most) = (0, most);
    }

    /// Forgets the bound. Returns the work by nonterminal.
    pub(crate) fn unbound(&mut self) -> Vec<u64> {
        std::mem::take(self).by_rule
    }

    #[inline]
    pub(crate) fn charge(&mut self, count: usize) {
        self.spent += count as u64;
    }

    /// Charges the reductions of a nonterminal.
    #[inline]
    pub(crate) fn charge_rule(&mut self, rule: u32, count: usize) {
        self.charge(count);
        if let Some(own) = self.by_rule.get_mut(rule as usize) {
            *own += count as u64;
        }
    }

    #[inline]
    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }

    /// Tells whether there was more than the bound. The results since then mean nothing.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.spent > self.most
    }
}
