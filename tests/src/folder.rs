//! A temporary folder of a server or a test.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, io, process};

/// If set, folders and their logs are kept.
const KEEP: &str = "KUBE_INFORMER_TEST_KEEP";

/// A folder of this process, removed when the value is dropped or the process ends.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// A shell that removes the folder when its input is closed.
    cleanup: Option<Child>,
}

impl Folder {
    /// Creates a folder that only this user can read.
    pub fn create() -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("kube-informer-{}-{number}", process::id()));
        DirBuilder::new().mode(0o700).create(&path)?;
        let cleanup = if env::var_os(KEEP).is_some() {
            eprintln!("{KEEP}: files are kept in {}", path.display());
            None
        } else {
            // A signal to all processes of a test must not end this one first. The servers are killed at the
            // same time; if one is still writing, the removal is retried.
            let script = "trap '' HUP INT TERM; cat >/dev/null; for _ in 1 2 3 4 5; do rm -rf -- \"$1\" && exit; sleep 0.2; done";
            let mut shell = Command::new("sh");
            shell.args(["-c", script, "cleanup"]).arg(&path);
            shell
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            Some(shell.spawn()?)
        };
        Ok(Self { path, cleanup })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(cleanup) = &mut self.cleanup {
            // Waiting closes the pipe first.
            let _ = cleanup.wait();
        }
    }
}
