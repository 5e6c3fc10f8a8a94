//! Standard output, written in as large pieces as possible and as soon as nothing more is at hand.

use std::io::{self, Write as _};

/// So much is gathered before it is written without being asked for.
const FULL: usize = 64 << 10;

/// What goes to standard output.
#[derive(Debug, Default)]
pub(crate) struct Out {
    gathered: Vec<u8>,
}

impl Out {
    pub(crate) fn new() -> Out {
        Out::default()
    }

    /// Adds text, which ends its own lines.
    ///
    /// # Errors
    /// If what was gathered could not be written, as when the reader is gone.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        self.gathered.extend_from_slice(text.as_bytes());
        if self.gathered.len() >= FULL {
            self.flush()?;
        }
        Ok(())
    }

    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        self.gathered.extend_from_slice(line.as_bytes());
        self.write("\n")
    }

    /// Writes everything that was gathered.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        // A reader that stops, as a terminal does on Ctrl-S, must not stop the caches and the signals.
        let written = tokio::task::block_in_place(|| {
            let mut stdout = io::stdout().lock();
            stdout.write_all(&self.gathered)?;
            stdout.flush()
        });
        self.gathered.clear();
        written
    }
}
