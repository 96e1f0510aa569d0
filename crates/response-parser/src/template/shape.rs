//! Marks within a call: texts with holes.
//!
//! `<parameter={key}>` is a text, a hole of the name `key`, and a text. A blank in a shape stands for any
//! white space, or none. For example, `</function> </tool_call>` takes both marks with a line feed between them.

/// The longest text of a hole, in bytes. Names of tools and parameters are shorter, and there is a
/// limit because a mark that never ends must not hold a stream back.
const MAX_HOLE: usize = 256;

/// The most white space that a blank of a shape takes, in bytes: a line feed or two is what models
/// put between two marks, and there is a limit because a stream waits for the blank's end.
const MAX_BLANK: usize = 64;

/// A mark.
#[derive(Debug)]
pub(super) struct Shape {
    parts: Vec<ShapePart>,
}

#[derive(Debug)]
enum ShapePart {
    Text(String),
    Blank,
    Hole(String),
}

/// The knowledge about a mark at some place of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fit<'t> {
    /// It is there, and ends here.
    Yes {
        end: usize,
        holes: Vec<(&'t str, &'t str)>,
    },
    /// It may be there: further text will tell.
    Maybe,
    No,
}

/// True if more text may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    More,
    Nothing,
}

/// The knowledge after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It goes on; its text is settled up to here.
    More { safe: usize },
    /// Its text ends, and so does what ends it.
    End { to: usize, end: usize },
    /// It is no call, whatever follows; it was text up to here.
    Never { to: usize },
}

impl Shape {
    /// Reads a shape; `None` if it does not start with a text, or a hole has no text behind it.
    pub(super) fn new(source: &str) -> Option<Shape> {
        let mut parts = Vec::new();
        let mut rest = source;
        while let Some(first) = rest.chars().next() {
            let (part, length) = match first {
                ' ' => (ShapePart::Blank, 1),
                '{' => {
                    let end = rest.find('}')?;
                    (ShapePart::Hole(rest[1..end].to_owned()), end + 1)
                }
                _ => {
                    let end = rest.find([' ', '{']).unwrap_or(rest.len());
                    (ShapePart::Text(rest[..end].to_owned()), end)
                }
            };
            parts.push(part);
            rest = &rest[length..];
        }
        let lone = parts.windows(2).any(|pair| {
            matches!(
                pair,
                [ShapePart::Hole(_), ShapePart::Blank | ShapePart::Hole(_)]
            )
        });
        let starts = matches!(parts.first(), Some(ShapePart::Text(_)));
        let ends = matches!(parts.last(), Some(ShapePart::Text(_)));
        (starts && ends && !lone).then_some(Shape { parts })
    }

    /// The text that the shape starts with.
    pub(super) fn head(&self) -> &str {
        match self.parts.first() {
            Some(ShapePart::Text(text)) => text,
            _ => "",
        }
    }

    /// Tells whether the text that the shape starts with holds one of these.
    pub(super) fn is_of(&self, specials: &[String]) -> bool {
        specials
            .iter()
            .any(|special| self.head().contains(special.as_str()))
    }

    /// The names of the holes.
    pub(super) fn holes(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            ShapePart::Hole(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Looks whether `text` has the shape at `at`. The cost is bounded by the shape.
    pub(super) fn fit<'t>(&'t self, text: &'t str, at: usize, ahead: Ahead) -> Fit<'t> {
        let maybe = match ahead {
            Ahead::More => Fit::Maybe,
            Ahead::Nothing => Fit::No,
        };
        let mut at = at;
        let mut holes = Vec::new();
        for (i, part) in self.parts.iter().enumerate() {
            let rest = &text[at..];
            match part {
                ShapePart::Text(wanted) => {
                    if rest.starts_with(wanted.as_str()) {
                        at += wanted.len();
                    } else if wanted.starts_with(rest) {
                        return maybe;
                    } else {
                        return Fit::No;
                    }
                }
                ShapePart::Blank => {
                    let window = floor(rest, MAX_BLANK);
                    let blank = window.len() - window.trim_start().len();
                    at += blank;
                    if at == text.len() {
                        return maybe;
                    }
                }
                ShapePart::Hole(name) => {
                    let Some(ShapePart::Text(next)) = self.parts.get(i + 1) else {
                        return Fit::No;
                    };
                    let window = floor(rest, MAX_HOLE);
                    let line = window.find('\n').unwrap_or(window.len());
                    match window[..line].find(next.as_str()) {
                        Some(0) => return Fit::No,
                        Some(length) => {
                            holes.push((name.as_str(), rest[..length].trim()));
                            at += length;
                        }
                        None if line == rest.len() => return maybe,
                        None => return Fit::No,
                    }
                }
            }
        }
        Fit::Yes { end: at, holes }
    }
}

/// The first shape that fits; one that may fit before it makes the answer open.
pub(super) fn first<'t>(shapes: &'t [Shape], text: &'t str, at: usize, ahead: Ahead) -> Fit<'t> {
    for shape in shapes {
        match shape.fit(text, at, ahead) {
            Fit::No => {}
            fit => return fit,
        }
    }
    Fit::No
}

/// Tells whether one of the shapes may start with that byte.
pub(super) fn starts_one(shapes: &[Shape], byte: u8) -> bool {
    shapes
        .iter()
        .any(|shape| shape.head().as_bytes().first() == Some(&byte))
}

/// Places from `from` on where one of the shapes may begin.
pub(super) fn candidates<'t>(
    shapes: &'t [Shape],
    text: &'t str,
    from: usize,
) -> impl Iterator<Item = usize> + 't {
    let bytes = text.as_bytes().iter().enumerate().skip(from);
    bytes
        .filter(|(at, byte)| starts_one(shapes, **byte) && text.is_char_boundary(*at))
        .map(|(at, _)| at)
}

/// The last end of a character at `at` or before.
pub(super) fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The first `most` bytes of a text, or fewer where that would cut a character.
fn floor(text: &str, most: usize) -> &str {
    &text[..boundary(text, most)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(shape: &str, text: &str, ahead: Ahead) -> Option<Option<usize>> {
        match Shape::new(shape).unwrap().fit(text, 0, ahead) {
            Fit::Yes { end, .. } => Some(Some(end)),
            Fit::Maybe => None,
            Fit::No => Some(None),
        }
    }

    #[test]
    fn a_shape_fits_once_it_is_whole() {
        let shape = "<a={key}> <b>";
        assert_eq!(fit(shape, "<a=x>\n <b>!", Ahead::More), Some(Some(10)));
        for part in ["", "<a", "<a=", "<a=x", "<a=x>", "<a=x>\n", "<a=x><b"] {
            assert_eq!(fit(shape, part, Ahead::More), None, "{part}");
            assert_eq!(fit(shape, part, Ahead::Nothing), Some(None), "{part}");
        }
        for other in ["<b>", "<a=>", "<a=x\n>", "<a=x>y"] {
            assert_eq!(fit(shape, other, Ahead::More), Some(None), "{other}");
        }
    }

    #[test]
    fn a_hole_does_not_hold_a_stream_back_for_ever() {
        let long = format!("<a={}", "x".repeat(MAX_HOLE + 1));
        assert_eq!(fit("<a={key}>", &long, Ahead::More), Some(None));
        assert!(Shape::new("{key}>").is_none() && Shape::new("<a={key}").is_none());
        assert!(Shape::new("").is_none() && Shape::new("<a={key} >").is_none());
    }
}
