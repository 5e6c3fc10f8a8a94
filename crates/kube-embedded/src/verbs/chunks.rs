//! Pieces of an answer on their way out: small ones are joined, large ones pass without a copy.

use std::collections::VecDeque;
use std::io;

use bytes::{Bytes, BytesMut};

use crate::http::Body;

/// Pieces from this size on are passed on without a copy.
const LARGE: usize = 4 * 1024;
/// Joined pieces are passed on from this size on.
const CHUNK: usize = 32 * 1024;

/// Pieces of an answer on their way out.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    ready: VecDeque<Bytes>,
    open: BytesMut,
}

impl Chunks {
    /// Adds bytes that go together with what follows.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
    }

    /// Adds a piece.
    pub(super) fn push(&mut self, piece: Bytes) {
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

    /// Lets go of what is joined so far.
    pub(super) fn flush(&mut self) {
        if !self.open.is_empty() {
            self.ready.push_back(self.open.split().freeze());
        }
    }

    /// The next chunk that is ready.
    pub(super) fn pop(&mut self) -> Option<Bytes> {
        self.ready.pop_front()
    }

    /// Everything, as the body of an answer.
    pub(super) fn into_body(mut self) -> Body {
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
