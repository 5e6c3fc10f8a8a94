//! A server process that ends with this process.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A server under a shell that kills it when a pipe from this process closes.
#[derive(Debug)]
pub(super) struct ServerProcess {
    pub(super) name: &'static str,
    shell: Child,
    /// The server's process id.
    id: u32,
    log: PathBuf,
}

impl ServerProcess {
    /// Starts `program`; its output is appended to `<folder>/<name>.log`.
    pub(super) fn start(
        name: &'static str,
        program: &Path,
        args: &[String],
        folder: &Path,
    ) -> io::Result<Self> {
        let log = folder.join(name).with_extension("log");
        let log_file = File::options().create(true).append(true).open(&log)?;
        let mut shell = Command::new("sh")
            .args(["-c", include_str!("supervise.sh"), name])
            .arg(program)
            .args(args)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log_file)
            .spawn()?;
        let mut id = String::new();
        if let Some(pipe) = shell.stdout.take() {
            BufReader::new(pipe).read_line(&mut id)?;
        }
        let id = id.trim().parse().map_err(io::Error::other)?;
        Ok(Self { name, shell, id, log })
    }

    /// Returns whether the server has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.shell.try_wait(), Ok(None))
    }

    /// Freezes the server. Returns when none of its threads runs.
    pub(super) fn freeze(&mut self) -> io::Result<()> {
        self.signal("STOP")?;
        while !is_stopped(self.id) {
            sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Resumes a frozen server.
    pub(super) fn thaw(&mut self) -> io::Result<()> {
        self.signal("CONT")
    }

    fn signal(&mut self, name: &str) -> io::Result<()> {
        match &mut self.shell.stdin {
            Some(pipe) => writeln!(pipe, "{name}"),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Kills the server, like a crash. Returns when it has ended.
    pub(super) fn kill(&mut self) {
        // Waiting closes the pipe first. If the shell has ended already, so has the server.
        let _ = self.shell.wait();
    }

    /// Returns the last lines of the server's log.
    pub(super) fn log_tail(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns whether every thread of the process is stopped or has ended. A signal arrives at the threads one
/// after the other, so a process can still respond after `kill` has returned.
fn is_stopped(process: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return true;
    };
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        // The state follows the program's name, which is in parentheses and may contain any character.
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        matches!(state, None | Some('T' | 't' | 'Z' | 'X'))
    })
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    /// Starts a shell command as a server.
    fn shell(name: &'static str, line: &str) -> ServerProcess {
        let log = env::temp_dir().join(name).with_extension("log");
        let _ = fs::remove_file(log);
        ServerProcess::start(
            name,
            Path::new("/bin/sh"),
            &["-c".into(), line.into()],
            &env::temp_dir(),
        )
        .unwrap()
    }

    #[test]
    fn server_ends_when_the_pipe_closes() {
        let mut server = shell("kube-informer-test-pipe", "exec sleep 600");
        let process = Path::new("/proc").join(server.id.to_string());
        assert!(process.exists());
        assert!(!server.has_ended());
        server.kill();
        assert!(!process.exists());
        fs::remove_file(&server.log).unwrap();
    }

    #[test]
    fn frozen_server_can_still_be_stopped() {
        let mut server = shell("kube-informer-test-freeze", "while :; do :; done");
        assert!(!is_stopped(server.id));
        server.freeze().unwrap();
        assert!(is_stopped(server.id));
        server.kill();
        fs::remove_file(&server.log).unwrap();
    }

    #[test]
    fn ended_server_leaves_its_output() {
        let mut server = shell("kube-informer-test-end", "echo no such flag; exit 3");
        while !server.has_ended() {
            sleep(Duration::from_millis(5));
        }
        assert_eq!(server.log_tail(), "no such flag");
        fs::remove_file(&server.log).unwrap();
    }
}
