//! Splits bytes into pieces, like a network does.

use bytes::Bytes;

use crate::choices::Choices;

/// Number of bytes of an input that determine the pieces.
const CUTS: usize = 4;

/// Splits an input as its first bytes determine. Returns the pieces, and the whole.
pub(crate) fn cut(data: &[u8]) -> (Vec<Bytes>, Bytes) {
    let (cuts, body) = data.split_at(data.len().min(CUTS));
    let whole = Bytes::copy_from_slice(body);
    let mut choices = Choices::of(cuts);
    let mut lengths = Vec::new();
    for _ in 0..CUTS {
        lengths.push(usize::from(choices.byte()));
    }
    let mut pieces = Vec::new();
    let mut rest = whole.clone();
    // A length of zero gives one empty piece. After the last length, the first is used again.
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let is_round_again = pieces.len() >= CUTS;
        let length = (*length).max(usize::from(is_round_again)).min(rest.len());
        // A copy, like from a socket's buffer: the pieces must not share memory.
        pieces.push(Bytes::copy_from_slice(&rest.split_to(length)));
    }
    (pieces, whole)
}
