//! Texts that end what is generated. For example, with the stop text `</end>`, `a<` is shown as `a`
//! until the next piece tells whether `<` begins it.

/// Looks for stop strings in a text that comes in pieces, and holds back what
/// may be the beginning of one.
#[derive(Clone, Debug, Default)]
pub(super) struct StopStrings {
    strings: Vec<String>,
    held: String,
}

/// The text that there is to show after a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// Text that is certain not to belong to a stop string.
    pub(super) text: String,
    /// The stop string that was found, by its place in the request.
    pub(super) stopped: Option<usize>,
}

impl StopStrings {
    /// Empty strings would stop everything at once, and are left out.
    pub(super) fn new(strings: &[String]) -> Self {
        Self {
            strings: strings.to_vec(),
            held: String::new(),
        }
    }

    /// Takes a piece. O(held text times stop strings).
    pub(super) fn push(&mut self, piece: &str) -> Shown {
        self.held.push_str(piece);
        let found = self
            .strings
            .iter()
            .enumerate()
            .filter(|(_, string)| !string.is_empty())
            .filter_map(|(at, string)| Some((self.held.find(string.as_str())?, at)))
            .min();
        if let Some((place, at)) = found {
            self.held.truncate(place);
            return Shown {
                text: std::mem::take(&mut self.held),
                stopped: Some(at),
            };
        }
        let longest = self
            .strings
            .iter()
            .map(|string| overlap(&self.held, string))
            .max()
            .unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - longest);
        Shown {
            text: std::mem::replace(&mut self.held, rest),
            stopped: None,
        }
    }

    /// Returns the text that is held back now.
    pub(super) fn held(&self) -> &str {
        &self.held
    }

    /// Returns the text that was held back, at the end.
    pub(super) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// Returns the number of bytes at the end of `text` that are the beginning of `string`.
fn overlap(text: &str, string: &str) -> usize {
    let most = string.len().saturating_sub(1).min(text.len());
    (1..=most)
        .rev()
        .find(|count| {
            string.is_char_boundary(*count)
                && text.as_bytes().ends_with(&string.as_bytes()[..*count])
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn beginnings_are_held_back() {
        let mut stop = StopStrings::new(&["</end>".to_owned(), "é!".to_owned()]);
        let mut shown = |piece: &str| {
            let shown = stop.push(piece);
            (shown.text, shown.stopped)
        };
        assert_eq!(shown("a<"), ("a".to_owned(), None));
        assert_eq!(shown("/e"), (String::new(), None));
        assert_eq!(shown("x é"), ("</ex ".to_owned(), None));
        assert_eq!(shown("!z"), (String::new(), Some(1)));
    }

    proptest! {
        /// Whatever the pieces are, the text is cut at the first stop string.
        #[test]
        fn the_first_stop_string_cuts(
            text in "[ab]{0,20}",
            strings in prop::collection::vec("[ab]{1,4}", 0..3),
            cuts in prop::collection::vec(0usize..20, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut stop = StopStrings::new(&strings);
            let mut out = String::new();
            let mut stopped = false;
            for pair in cuts.windows(2) {
                let shown = stop.push(&text[pair[0]..pair[1]]);
                out.push_str(&shown.text);
                if shown.stopped.is_some() {
                    stopped = true;
                    break;
                }
            }
            if !stopped {
                out.push_str(&stop.finish());
            }
            // The one that is complete first ends the text; of those that end
            // together the one that begins first.
            let ends = (0..=text.len()).find(|end| {
                strings.iter().any(|s| text[..*end].ends_with(s.as_str()))
            });
            prop_assert_eq!(stopped, ends.is_some());
            if ends.is_none() {
                prop_assert_eq!(out, text);
            } else {
                prop_assert!(text.starts_with(&out));
                prop_assert!(strings.iter().any(|s| text[out.len()..].starts_with(s.as_str())));
                prop_assert!(strings.iter().all(|s| !out.contains(s.as_str())));
            }
        }
    }
}
