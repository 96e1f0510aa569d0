//! The regions of a text, for those who take them as they are cut. For example, `<think>Hm.</think>`
//! is opened, given `Hm.` and closed.

use super::call::{Parameter, Scan};
use crate::error::Error;

/// A call in the text: what opened it, its body, and what ended it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) open: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) end: usize,
}

/// The treatment of the text of a region that turned out to be no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// It was a call, or is thrown away.
    None,
    /// It is content, from here on.
    Content { from: usize },
}

/// Why a region is no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoCall {
    /// The text is no call.
    Broken,
    /// It may have become one.
    Unfinished,
}

/// A group of a match: its number (see [`Field::named`](super::load::Field::named)), its start and its end.
pub(super) type Capture = (usize, usize, usize);

/// Takes the regions as they are cut. Nothing is done about calls unless told: a template of the reference's language
/// has none of this kind.
pub(super) trait Regions {
    fn open(&mut self, field: usize);
    /// Text of the open region of `field`, from here to there.
    fn text(&mut self, field: usize, from: usize, to: usize);
    /// The open region ends; all its text is from here to there. `captures` are groups of the match that opened
    /// it, and behind them of the one that closed it.
    fn close(
        &mut self,
        field: usize,
        from: usize,
        to: usize,
        captures: &[Capture],
    ) -> Result<(), Error>;
    /// Tells whether the tool that the captures name has that parameter.
    fn expects(&self, _field: usize, _captures: &[Capture], _key: &str) -> bool {
        false
    }
    /// Tells whether a call can be read, which does not have to be one.
    fn reads(&self, _: usize, _: Span, _captures: &[Capture], _: &[Parameter]) -> bool {
        false
    }
    /// More of the call that is open has settled.
    fn grows(&mut self, _: usize, _body: (usize, usize), _captures: &[Capture], _: &Scan) {}
    /// A call ends.
    fn call(
        &mut self,
        _field: usize,
        _: Span,
        _captures: &[Capture],
        _: &[Parameter],
    ) -> Result<Rest, Error> {
        Ok(Rest::None)
    }
    /// A list of calls was cut off behind the item that ends at `to`.
    fn part(&mut self, _: usize, _from: usize, _to: usize, _: &[Capture]) -> Result<(), Error> {
        Ok(())
    }
    /// The open region is no call.
    fn no_call(&mut self, _field: usize, _: Span, _: NoCall) -> Result<Rest, Error> {
        Ok(Rest::None)
    }
}
