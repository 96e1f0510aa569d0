//! Why a token may not come. For example, `ab` is refused at its second byte if `b` cannot follow.

use super::allowed_bytes;
use crate::{ByteAutomaton, Error, ErrorKind, TokenId};

#[cold]
pub(super) fn refused_byte<A: ByteAutomaton>(
    automaton: &A,
    before: &A::State,
    token: TokenId,
    bytes: &[u8],
    offset: usize,
) -> Error {
    let mut state = before.clone();
    let _ = automaton.advance(&mut state, &bytes[..offset], &mut automaton.scratch());
    let expected = allowed_bytes(automaton, &state);
    refused(
        token,
        offset,
        &format!(
            "({:?}) leaves the language at its byte {offset}, {}; expected {}",
            String::from_utf8_lossy(bytes),
            show_bytes(&bytes[offset..=offset]),
            if expected.is_empty() {
                "the end of the text".to_owned()
            } else {
                show_bytes(&expected)
            }
        ),
    )
}

#[cold]
pub(super) fn refused(token: TokenId, offset: usize, why: &str) -> Error {
    Error::at(
        ErrorKind::TokenRefused,
        offset,
        format!("token {token} {why}"),
    )
}

/// Bytes as people write them, runs joined: `"0"-"9", "-"`.
fn show_bytes(bytes: &[u8]) -> String {
    let one = |b: u8| match b {
        b' '..=b'~' => format!("`{}`", b as char),
        _ => format!("0x{b:02X}"),
    };
    let mut runs: Vec<(u8, u8)> = Vec::new();
    for &byte in bytes {
        match runs.last_mut() {
            Some(run) if run.1.checked_add(1) == Some(byte) => run.1 = byte,
            _ => runs.push((byte, byte)),
        }
    }
    let mut parts: Vec<String> = runs
        .iter()
        .take(8)
        .map(|&(a, b)| {
            if a == b {
                one(a)
            } else {
                format!("{}-{}", one(a), one(b))
            }
        })
        .collect();
    if runs.len() > parts.len() {
        parts.push("..".to_owned());
    }
    parts.join(", ")
}
