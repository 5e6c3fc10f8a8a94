//! Messages for the user, on standard error.

use std::io::{self, IsTerminal as _, Write as _};

use parking_lot::Mutex;

/// Standard error with an optional progress line at the bottom.
#[derive(Debug)]
pub(crate) struct Messages {
    terminal: bool,
    /// Whether the progress line is visible.
    progress: Mutex<bool>,
}

impl Messages {
    pub(crate) fn new() -> Messages {
        Messages {
            terminal: io::stderr().is_terminal(),
            progress: Mutex::new(false),
        }
    }

    /// Returns whether progress lines are visible to the user.
    pub(crate) fn shows_progress(&self) -> bool {
        self.terminal
    }

    /// Prints a message.
    pub(crate) fn print(&self, line: &str) {
        let mut progress = self.progress.lock();
        write(&format!("{}{line}\n", clearing(&mut progress)));
    }

    /// Prints a progress line, which the next message replaces.
    pub(crate) fn progress(&self, line: &str) {
        if self.terminal {
            let mut progress = self.progress.lock();
            let text = format!("{}{line}", clearing(&mut progress));
            *progress = true;
            write(&text);
        }
    }

    /// Removes the progress line.
    pub(crate) fn clear(&self) {
        let clearing = clearing(&mut self.progress.lock());
        if !clearing.is_empty() {
            write(clearing);
        }
    }
}

/// Removes the progress line.
impl Drop for Messages {
    fn drop(&mut self) {
        self.clear();
    }
}

fn clearing(progress: &mut bool) -> &'static str {
    if std::mem::take(progress) { "\r\x1b[K" } else { "" }
}

fn write(text: &str) {
    // Errors on standard error cannot be reported.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
