//! Bytes in the pieces in which a network might bring them.

use bytes::Bytes;

use crate::choices::Choices;

/// How many bytes of an input say where the rest is cut.
const CUTS: usize = 4;

/// Cuts an input as its first bytes say. Gives the pieces, and all of it in one.
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
    // A length of zero is a piece without bytes, once; after the last length it begins again with the first.
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let is_round_again = pieces.len() >= CUTS;
        let length = (*length).max(usize::from(is_round_again)).min(rest.len());
        // A copy, as of a socket's buffer: what the pieces are slices of must not matter.
        pieces.push(Bytes::copy_from_slice(&rest.split_to(length)));
    }
    (pieces, whole)
}
