//! A buffer for bytes from a connection.

use std::fmt;

use bytes::{Buf as _, Bytes, BytesMut};

use crate::chunk::append_chunk;
use crate::length::Length;

/// Bytes that were received and not read.
///
/// Ranges within one chunk are returned as slices; others are copied once.
#[derive(Default)]
pub(super) struct InputBuffer {
    /// The start of the requested range. The rest was not received yet.
    partial: BytesMut,
    chunk: Bytes,
}

impl fmt::Debug for InputBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("partial", &Length(self.partial.len()))
            .field("chunk", &Length(self.chunk.len()))
            .finish()
    }
}

/// Maximum number of bytes allocated before they are received.
const MAX_PREALLOCATION: usize = 64 * 1024;

impl InputBuffer {
    pub(super) fn push(&mut self, chunk: Bytes) {
        append_chunk(&mut self.chunk, chunk);
    }

    /// Returns the next `len` bytes, or `None` until all of them were received. Retries must use the same `len`.
    pub(super) fn take(&mut self, len: usize) -> Option<Bytes> {
        if self.partial.is_empty() && self.chunk.len() >= len {
            return Some(self.chunk.split_to(len));
        }
        if self.partial.is_empty() {
            self.partial.reserve(len.min(MAX_PREALLOCATION));
        }
        let missing = len.saturating_sub(self.partial.len()).min(self.chunk.len());
        self.partial.extend_from_slice(&self.chunk.split_to(missing));
        (self.partial.len() == len).then(|| self.partial.split().freeze())
    }

    /// Returns the next byte.
    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.chunk.first()?;
        self.chunk.advance(1);
        Some(byte)
    }

    /// Drops up to `len` bytes, and returns the number of dropped bytes.
    pub(super) fn skip(&mut self, len: usize) -> usize {
        let dropped = len.min(self.chunk.len());
        self.chunk.advance(dropped);
        dropped
    }

    pub(super) fn is_empty(&self) -> bool {
        self.partial.is_empty() && self.chunk.is_empty()
    }
}
