//! Ranks in the files of tiktoken. For example, the line `IQ== 0` is the token 0 with the byte `!`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::VocabularyBuilder;
use crate::{Error, ErrorKind, TokenId, Vocabulary};

pub(super) fn read(
    ranks: &[u8],
    specials: &[(&str, TokenId)],
    ends: &[TokenId],
) -> Result<Vocabulary, Error> {
    let mut builder = VocabularyBuilder::new();
    let mut tokens = 0;
    for (number, line) in ranks.split(|&b| b == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let bad = |what: &str| {
            Error::new(
                ErrorKind::Vocabulary,
                format!(
                    "line {} of the tiktoken ranks {what}; a line is a token in base64, a blank and its number",
                    number + 1
                ),
            )
        };
        let mut parts = line.splitn(2, |&b| b == b' ');
        let (Some(token), Some(rank)) = (parts.next(), parts.next()) else {
            return Err(bad("has no blank"));
        };
        let token = STANDARD
            .decode(token)
            .map_err(|_| bad("has a token that is not base64"))?;
        let rank = std::str::from_utf8(rank)
            .ok()
            .and_then(|r| r.trim().parse().ok())
            .ok_or_else(|| bad("has a number that is none"))?;
        builder.text(TokenId::new(rank), token)?;
        tokens += 1;
    }
    if tokens == 0 {
        return Err(Error::new(
            ErrorKind::Vocabulary,
            "the tiktoken file has no ranks",
        ));
    }
    for &(name, id) in specials {
        builder.special(id, name)?;
    }
    for &id in ends {
        builder.end(id)?;
    }
    builder.build()
}
