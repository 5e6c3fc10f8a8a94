//! Buffered standard output.

use std::io::{self, Write as _};

/// Buffer size at which output is written without a flush.
const CAPACITY: usize = 64 << 10;

/// Standard output with an explicit flush, which callers do when no more output is pending.
#[derive(Debug, Default)]
pub(crate) struct BufferedStdout {
    buffer: Vec<u8>,
}

impl BufferedStdout {
    pub(crate) fn new() -> BufferedStdout {
        BufferedStdout::default()
    }

    /// Adds text without a line break.
    ///
    /// # Errors
    /// If the buffer cannot be written, for example because the reader is gone.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        self.buffer.extend_from_slice(text.as_bytes());
        if self.buffer.len() >= CAPACITY {
            self.flush()?;
        }
        Ok(())
    }

    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        self.buffer.extend_from_slice(line.as_bytes());
        self.write("\n")
    }

    /// Writes the buffer.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        // A blocked reader, for example a terminal after Ctrl-S, must not block caches and signals.
        let written = tokio::task::block_in_place(|| {
            let mut stdout = io::stdout().lock();
            stdout.write_all(&self.buffer)?;
            stdout.flush()
        });
        self.buffer.clear();
        written
    }
}
