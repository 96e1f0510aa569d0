//! The tokens that a mask allows, gone through without writing masked logits down.
//!
//! For example, under the mask `0b101` of three tokens these are 0 and 2.

/// A token that may be chosen, with its logit or, later, its weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) token: u32,
    pub(super) value: f32,
}

/// The step in which logits become weights: the largest has 1.
pub(super) struct Weigh {
    pub(super) most: f32,
    pub(super) temperature: f32,
    pub(super) least: f32,
}

impl Weigh {
    pub(super) fn weight(&self, logit: f32) -> f32 {
        if self.most == f32::INFINITY {
            // An infinite logit leaves no room for finite ones.
            return f32::from(u8::from(logit == f32::INFINITY));
        }
        // Logits over a tiny temperature overflow; distances from the largest
        // do not.
        let scaled = (logit - self.most) / self.temperature;
        // Below this the exponential is 0 in 32 bits.
        match scaled < -104.0 {
            true => 0.0,
            false => scaled.exp(),
        }
    }
}

/// The allowed tokens and their logits, in ascending order of tokens.
pub(super) struct Allowed<'a> {
    pub(super) logits: &'a [f32],
    pub(super) mask: Option<&'a [u32]>,
    /// Tokens with another logit than the model's, in ascending order.
    pub(super) penalised: &'a [Candidate],
}

impl Allowed<'_> {
    /// Each allowed token, but for those whose logits are no numbers.
    pub(super) fn for_each(&self, mut each: impl FnMut(u32, f32)) {
        let mut penalised = self.penalised.iter().peekable();
        self.each_run(|first, logits, word| {
            let mut one = |token: u32, mut logit: f32| {
                if !self.penalised.is_empty() {
                    while penalised.next_if(|p| p.token < token).is_some() {}
                    if let Some(own) = penalised.next_if(|p| p.token == token) {
                        logit = own.value;
                    }
                }
                if !logit.is_nan() {
                    each(token, logit);
                }
            };
            if word == u32::MAX {
                for (token, logit) in (first..).zip(logits) {
                    one(token, *logit);
                }
                return;
            }
            let mut left = word;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if let Some(logit) = logits.get(bit as usize) {
                    one(first + bit, *logit);
                }
            }
        });
    }

    /// The largest logit, minus infinity if there is none, and the first token
    /// that has it.
    pub(super) fn largest(&self) -> (f32, u32) {
        let (mut most, mut at) = (f32::NEG_INFINITY, 0);
        if !self.penalised.is_empty() {
            self.for_each(|token, logit| {
                if logit > most {
                    (most, at) = (logit, token);
                }
            });
            return (most, at);
        }
        self.each_run(|first, logits, word| {
            // Without branches, so that it is computed several at once. Most of the runs that are
            // allowed in part are done with, too, because a logit that is larger than all before
            // comes seldom.
            if word.count_ones() > FEW && largest_of(logits) <= most {
                return;
            }
            let mut left = word;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                match logits.get(bit as usize) {
                    Some(&logit) if logit > most => (most, at) = (logit, first + bit),
                    _ => {}
                }
            }
        });
        (most, at)
    }

    /// Goes through runs of at most 32 tokens some of which are allowed: the
    /// first, the logits, and a word of the mask.
    fn each_run(&self, mut each: impl FnMut(u32, &[f32], u32)) {
        match self.mask {
            None => {
                for (first, logits) in (0..).step_by(32).zip(self.logits.chunks(32)) {
                    each(first, logits, u32::MAX);
                }
            }
            Some(words) => {
                let runs = words.iter().zip(self.logits.chunks(32));
                for (first, (word, logits)) in (0..).step_by(32).zip(runs) {
                    if *word != 0 {
                        each(first, logits, *word);
                    }
                }
            }
        }
    }
}

/// The most allowed tokens of a run that are looked at one by one: with more it pays to compute the
/// run's largest logit first, because that takes no branches.
const FEW: u32 = 6;

/// The largest of some logits; those that are no numbers are passed over.
fn largest_of(logits: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; 8];
    let (eights, rest) = logits.as_chunks::<8>();
    for eight in eights {
        for (lane, logit) in lanes.iter_mut().zip(eight) {
            *lane = larger(*lane, *logit);
        }
    }
    let lanes = lanes.into_iter().chain(rest.iter().copied());
    lanes.fold(f32::NEG_INFINITY, larger)
}

/// Collects the `k` tokens with the largest logits, in ascending order of
/// tokens. Amortised O(1) a token.
pub(super) fn keep_top_k(allowed: &Allowed<'_>, k: usize, kept: &mut Vec<Candidate>) {
    // Twice as many are collected before the worse half is thrown away.
    let full = k.saturating_mul(2).max(64);
    let mut floor = None;
    allowed.for_each(|token, value| {
        if value == f32::NEG_INFINITY
            || floor.is_some_and(|floor: f32| value.total_cmp(&floor).is_le())
        {
            return;
        }
        kept.push(Candidate { token, value });
        if kept.len() >= full {
            let (_, last, _) = kept.select_nth_unstable_by(k - 1, better);
            floor = Some(last.value);
            kept.truncate(k);
        }
    });
    if kept.len() > k {
        kept.select_nth_unstable_by(k - 1, better);
        kept.truncate(k);
    }
    kept.sort_unstable_by_key(|c| c.token);
}

/// Keeps the tokens with the largest weights that first sum to `p` of all, the
/// largest first.
pub(super) fn keep_top_p(p: f32, kept: &mut Vec<Candidate>) {
    let total: f64 = kept.iter().map(|c| f64::from(c.value)).sum();
    let wanted = total * f64::from(p);
    let (mut sum, mut sorted, mut more) = (0.0, 0, 64);
    while sorted < kept.len() {
        let rest = &mut kept[sorted..];
        let next = match rest.len() > more {
            true => rest.select_nth_unstable_by(more - 1, better).0.len() + 1,
            false => rest.len(),
        };
        rest[..next].sort_unstable_by(better);
        for (at, candidate) in rest[..next].iter().enumerate() {
            sum += f64::from(candidate.value);
            if sum >= wanted {
                kept.truncate(sorted + at + 1);
                return;
            }
        }
        sorted += next;
        more *= 8;
    }
}

/// The larger value first; of equals the smaller token.
pub(super) fn better(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.value.total_cmp(&a.value).then(a.token.cmp(&b.token))
}

/// The tokens that a mask allows among `width`, in ascending order.
pub(super) fn allowed(words: &[u32], width: usize) -> impl Iterator<Item = usize> {
    let bits = words.iter().enumerate().flat_map(|(index, word)| {
        let mut word = *word;
        std::iter::from_fn(move || {
            let bit = word.trailing_zeros();
            (word != 0).then(|| {
                word &= word - 1;
                index * 32 + bit as usize
            })
        })
    });
    bits.take_while(move |token| *token < width)
}
