//! A reader for bodies of lines.

use std::fmt;

use bytes::{Buf as _, Bytes, BytesMut};

use super::Error;
use super::cursor::is_space;
use crate::chunk::append_chunk;
use crate::length::Length;

/// Splits a body into lines, independently of how it is split into chunks. A watch has one event per line.
///
/// A line within one chunk shares its memory; a line that spans chunks is copied.
///
/// # Examples
///
/// ```
/// use bytes::Bytes;
/// use kube_wire::json::LineReader;
///
/// let mut lines = LineReader::new(1 << 20);
/// lines.push(Bytes::from_static(b"{\"type\":\"ADDED\"}\n{\"ty"));
/// assert_eq!(lines.next_line()?.as_deref(), Some(&b"{\"type\":\"ADDED\"}"[..]));
/// assert_eq!(lines.next_line()?, None);
/// # Ok::<(), kube_wire::json::Error>(())
/// ```
pub struct LineReader {
    limit: usize,
    /// The unread part of the last chunk.
    chunk: Bytes,
    /// The start of the next line, from earlier chunks.
    partial: BytesMut,
    /// Number of bytes consumed.
    offset: usize,
}

impl fmt::Debug for LineReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineReader")
            .field("limit", &self.limit)
            .field("chunk", &Length(self.chunk.len()))
            .field("partial", &Length(self.partial.len()))
            .field("offset", &self.offset)
            .finish()
    }
}

impl LineReader {
    /// Creates a reader for lines of at most `limit` bytes.
    pub fn new(limit: usize) -> LineReader {
        LineReader {
            limit,
            chunk: Bytes::new(),
            partial: BytesMut::new(),
            offset: 0,
        }
    }

    /// Appends a chunk. Copies it if lines of the previous chunk are still unread.
    pub fn push(&mut self, chunk: Bytes) {
        append_chunk(&mut self.chunk, chunk);
    }

    /// Returns the next complete line that is not blank, without the line feed.
    ///
    /// # Errors
    /// Returns an error if the line exceeds the limit, even before its end was received.
    pub fn next_line(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let end = memchr::memchr(b'\n', &self.chunk);
            let len = end.unwrap_or(self.chunk.len());
            if self.partial.len() + len > self.limit {
                return Err(Error::too_long(self.limit, self.offset));
            }
            let part = self.chunk.split_to(len);
            self.offset += len;
            if end.is_none() {
                self.partial.extend_from_slice(&part);
                return Ok(None);
            }
            self.chunk.advance(1);
            self.offset += 1;
            let line = if self.partial.is_empty() {
                part
            } else {
                self.partial.extend_from_slice(&part);
                self.partial.split().freeze()
            };
            if !is_blank(&line) {
                return Ok(Some(line));
            }
        }
    }

    /// Returns the unterminated last line when the body has ended.
    pub fn rest(&mut self) -> Option<Bytes> {
        self.partial.extend_from_slice(&std::mem::take(&mut self.chunk));
        let rest = self.partial.split().freeze();
        (!is_blank(&rest)).then_some(rest)
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| is_space(*byte))
}
