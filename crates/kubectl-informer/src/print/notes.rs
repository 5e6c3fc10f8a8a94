//! Notes to the person, beside the output: on standard error.

use std::io::{self, IsTerminal as _, Write as _};

use parking_lot::Mutex;

/// Standard error, where a line of progress may stand at the bottom.
#[derive(Debug)]
pub(crate) struct Notes {
    terminal: bool,
    /// Whether the line of progress is there.
    progress: Mutex<bool>,
}

impl Notes {
    pub(crate) fn new() -> Notes {
        Notes {
            terminal: io::stderr().is_terminal(),
            progress: Mutex::new(false),
        }
    }

    /// Whether a line of progress would be seen by someone.
    pub(crate) fn shows_progress(&self) -> bool {
        self.terminal
    }

    /// A line that stays.
    pub(crate) fn say(&self, line: &str) {
        let mut progress = self.progress.lock();
        write(&format!("{}{line}\n", clearing(&mut progress)));
    }

    /// A line that the next one replaces.
    pub(crate) fn progress(&self, line: &str) {
        if self.terminal {
            let mut progress = self.progress.lock();
            let text = format!("{}{line}", clearing(&mut progress));
            *progress = true;
            write(&text);
        }
    }

    /// Takes the line of progress away.
    pub(crate) fn clear(&self) {
        let clearing = clearing(&mut self.progress.lock());
        if !clearing.is_empty() {
            write(clearing);
        }
    }
}

/// No line of progress stays behind.
impl Drop for Notes {
    fn drop(&mut self) {
        self.clear();
    }
}

fn clearing(progress: &mut bool) -> &'static str {
    if std::mem::take(progress) { "\r\x1b[K" } else { "" }
}

fn write(text: &str) {
    // There is nobody to tell that nobody can be told.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
