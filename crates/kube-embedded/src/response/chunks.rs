//! Joins small pieces of a response to chunks. Large pieces are not copied.

use std::collections::VecDeque;
use std::io;

use bytes::{Bytes, BytesMut};

use super::Body;

/// Minimum size of a piece that is not copied.
const LARGE: usize = 4 * 1024;
/// Size at which joined pieces become a chunk.
const CHUNK: usize = 32 * 1024;

/// The chunks of a response.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    ready: VecDeque<Bytes>,
    open: BytesMut,
}

impl Chunks {
    /// Adds bytes to the current chunk.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, piece: Bytes) {
        if piece.len() >= LARGE {
            self.flush();
            self.ready.push_back(piece);
        } else {
            self.open.extend_from_slice(&piece);
            if self.open.len() >= CHUNK {
                self.flush();
            }
        }
    }

    /// Ends the current chunk.
    pub(crate) fn flush(&mut self) {
        if !self.open.is_empty() {
            self.ready.push_back(self.open.split().freeze());
        }
    }

    /// Returns the next finished chunk.
    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        self.ready.pop_front()
    }

    /// Returns everything as the body of a response.
    pub(crate) fn into_body(mut self) -> Body {
        self.flush();
        match (self.ready.pop_front(), self.ready.is_empty()) {
            (Some(only), true) => Body::full(only),
            (first, _) => {
                let chunks = first.into_iter().chain(self.ready);
                Body::stream(futures::stream::iter(chunks.map(io::Result::Ok)))
            }
        }
    }
}
