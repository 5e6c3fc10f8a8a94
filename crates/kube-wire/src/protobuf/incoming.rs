//! Bytes as they come from a connection.

use std::fmt;

use bytes::{Buf as _, Bytes, BytesMut};

use crate::length::Length;

/// What has come and has not been read.
///
/// What came in one piece is given as a slice of it, anything else is copied once.
#[derive(Default)]
pub(super) struct Incoming {
    /// The beginning of what was asked for. More of it has to come.
    begun: BytesMut,
    piece: Bytes,
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("begun", &Length(self.begun.len()))
            .field("piece", &Length(self.piece.len()))
            .finish()
    }
}

/// What may be allocated before it comes.
const TRUSTED: usize = 64 * 1024;

impl Incoming {
    pub(super) fn push(&mut self, piece: Bytes) {
        if self.piece.is_empty() {
            self.piece = piece;
        } else {
            self.piece = [&self.piece[..], &piece[..]].concat().into();
        }
    }

    /// So many bytes, once they have all come. Until then the same has to be asked for.
    pub(super) fn take(&mut self, len: usize) -> Option<Bytes> {
        if self.begun.is_empty() && self.piece.len() >= len {
            return Some(self.piece.split_to(len));
        }
        if self.begun.is_empty() {
            self.begun.reserve(len.min(TRUSTED));
        }
        let missing = len.saturating_sub(self.begun.len()).min(self.piece.len());
        self.begun.extend_from_slice(&self.piece.split_to(missing));
        (self.begun.len() == len).then(|| self.begun.split().freeze())
    }

    /// The next byte.
    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.piece.first()?;
        self.piece.advance(1);
        Some(byte)
    }

    /// Drops up to so many bytes, and says how many.
    pub(super) fn drop_up_to(&mut self, len: usize) -> usize {
        let dropped = len.min(self.piece.len());
        self.piece.advance(dropped);
        dropped
    }

    pub(super) fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.piece.is_empty()
    }
}
