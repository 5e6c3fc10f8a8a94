//! Chunks of a body.

use bytes::{Bytes, BytesMut};

/// Appends a chunk to the unread part of the previous one.
pub(crate) fn append_chunk(left: &mut Bytes, chunk: Bytes) {
    if left.is_empty() {
        *left = chunk;
        return;
    }
    let mut both = match std::mem::take(left).try_into_mut() {
        Ok(both) => both,
        Err(shared) => BytesMut::from(&*shared),
    };
    both.extend_from_slice(&chunk);
    *left = both.freeze();
}
