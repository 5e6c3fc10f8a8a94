//! A folder for what one server or one test leaves behind.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, io, process};

/// Set to anything, this keeps the folder, and with it the logs, for a look afterwards.
const KEEP: &str = "KUBE_INFORMER_TEST_KEEP";

/// A folder of this process, removed when the value is dropped or the process ends.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// A shell that removes the folder when the pipe from here closes.
    janitor: Option<Child>,
}

impl Folder {
    /// Makes a folder that only this user can read.
    pub fn create() -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("kube-informer-{}-{number}", process::id()));
        DirBuilder::new().mode(0o700).create(&path)?;
        let janitor = if env::var_os(KEEP).is_some() {
            eprintln!("{KEEP}: files are kept in {}", path.display());
            None
        } else {
            // A signal to all processes of a test must not end this one first. The servers are killed at the same moment: one
            // that still writes gets another try.
            let script = "trap '' HUP INT TERM; cat >/dev/null; for _ in 1 2 3 4 5; do rm -rf -- \"$1\" && exit; sleep 0.2; done";
            let mut shell = Command::new("sh");
            shell.args(["-c", script, "janitor"]).arg(&path);
            shell
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            Some(shell.spawn()?)
        };
        Ok(Self { path, janitor })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(janitor) = &mut self.janitor {
            // Waiting closes the pipe first.
            let _ = janitor.wait();
        }
    }
}
