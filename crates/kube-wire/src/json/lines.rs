//! A body in lines.

use std::fmt;

use bytes::{Buf as _, Bytes, BytesMut};

use super::Error;
use super::cursor::is_space;
use crate::length::Length;

/// Cuts a body into lines, however the bytes arrive: a watch has one event on each.
///
/// A line that came in one piece shares its memory; one that came in several is put together.
///
/// ```
/// use bytes::Bytes;
/// use kube_wire::json::Lines;
///
/// let mut lines = Lines::new(1 << 20);
/// lines.push(Bytes::from_static(b"{\"type\":\"ADDED\"}\n{\"ty"));
/// assert_eq!(lines.next_line()?.as_deref(), Some(&b"{\"type\":\"ADDED\"}"[..]));
/// assert_eq!(lines.next_line()?, None);
/// # Ok::<(), kube_wire::json::Error>(())
/// ```
pub struct Lines {
    limit: usize,
    /// What came last and has not been looked at.
    piece: Bytes,
    /// The beginning of the next line, which came before the piece.
    begun: BytesMut,
    /// How many bytes have been taken from pieces.
    offset: usize,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("limit", &self.limit)
            .field("piece", &Length(self.piece.len()))
            .field("begun", &Length(self.begun.len()))
            .field("offset", &self.offset)
            .finish()
    }
}

impl Lines {
    /// Lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Lines {
        Lines {
            limit,
            piece: Bytes::new(),
            begun: BytesMut::new(),
            offset: 0,
        }
    }

    /// Takes the next piece. It is copied if the piece before it has lines that have not been asked for.
    pub fn push(&mut self, piece: Bytes) {
        append(&mut self.piece, piece);
    }

    /// The next whole line that is not empty, without its end.
    ///
    /// # Errors
    /// It is longer than it may be, whether or not its end has come: how bytes arrive decides nothing.
    pub fn next_line(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let end = memchr::memchr(b'\n', &self.piece);
            let len = end.unwrap_or(self.piece.len());
            if self.begun.len() + len > self.limit {
                return Err(Error::too_long(self.limit, self.offset));
            }
            let part = self.piece.split_to(len);
            self.offset += len;
            if end.is_none() {
                self.begun.extend_from_slice(&part);
                return Ok(None);
            }
            self.piece.advance(1);
            self.offset += 1;
            let line = if self.begun.is_empty() {
                part
            } else {
                self.begun.extend_from_slice(&part);
                self.begun.split().freeze()
            };
            if !is_blank(&line) {
                return Ok(Some(line));
            }
        }
    }

    /// What is left when the body ends: a last line without its end, or half of one.
    pub fn rest(&mut self) -> Option<Bytes> {
        self.begun.extend_from_slice(&std::mem::take(&mut self.piece));
        let rest = self.begun.split().freeze();
        (!is_blank(&rest)).then_some(rest)
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| is_space(*byte))
}

/// Puts a piece behind what is left of the one before it.
pub(super) fn append(left: &mut Bytes, piece: Bytes) {
    if left.is_empty() {
        *left = piece;
        return;
    }
    let mut both = match std::mem::take(left).try_into_mut() {
        Ok(both) => both,
        Err(shared) => BytesMut::from(&*shared),
    };
    both.extend_from_slice(&piece);
    *left = both.freeze();
}
