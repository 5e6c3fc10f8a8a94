//! A program, run as a person would run it.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use conformance::{Folder, TestServer};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// Timeout of every step.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct ProgramProcess {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// Contains the kubeconfig.
    _folder: Folder,
}

impl ProgramProcess {
    /// Starts an example of `kube-informer` with a kubeconfig for the server.
    pub(crate) async fn start(server: &TestServer, example: &str, arguments: &[&str]) -> ProgramProcess {
        let place = format!("examples/{example}");
        let program = built(&place, &["--package", "kube-informer", "--examples"]).await;
        ProgramProcess::run(server, program, arguments)
    }

    /// Starts the command line.
    pub(crate) async fn kubectl_informer(server: &TestServer, arguments: &[&str]) -> ProgramProcess {
        let program = built("kubectl-informer", &["--package", "kubectl-informer"]).await;
        ProgramProcess::run(server, program, arguments)
    }

    fn run(server: &TestServer, program: PathBuf, arguments: &[&str]) -> ProgramProcess {
        let folder = Folder::create().expect("a folder");
        let kubeconfig = folder.path().join("config");
        server.write_kubeconfig(&kubeconfig);
        let mut child = Command::new(program)
            .args(arguments)
            .env("KUBECONFIG", kubeconfig)
            // Like outside of a cluster, independent of the environment.
            .env_remove("KUBERNETES_SERVICE_HOST")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program");
        let stdout = child.stdout.take().expect("its output");
        ProgramProcess {
            child,
            lines: BufReader::new(stdout).lines(),
            _folder: folder,
        }
    }

    /// Returns the next line of its output.
    pub(crate) async fn line(&mut self) -> String {
        let line = timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.expect("a line in time").expect("readable output");
        line.expect("a line before its end")
    }

    /// Returns the next lines, sorted, because lists have no order.
    pub(crate) async fn sorted(&mut self, count: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for _ in 0..count {
            lines.push(self.line().await);
        }
        lines.sort();
        lines
    }

    /// Returns the next lines up to one that contains a text.
    pub(crate) async fn until(&mut self, wanted: &str) -> String {
        loop {
            let line = self.line().await;
            if line.contains(wanted) {
                return line;
            }
        }
    }

    /// Reads up to a line. Lines before it must be repetitions of earlier ones.
    pub(crate) async fn after(&mut self, again: &[&str], wanted: &str) {
        loop {
            let line = self.line().await;
            if line == wanted {
                return;
            }
            assert!(again.contains(&line.as_str()), "{line:?} instead of {wanted:?}");
        }
    }

    /// Sends Ctrl-C. The program must exit successfully.
    pub(crate) async fn stop(mut self) {
        let id = self.child.id().expect("it runs");
        handles_interrupts(id).await;
        // `kill` is a builtin of every shell, but not a program on every machine.
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -INT {id}")])
            .status()
            .await;
        assert!(sent.expect("kill").success());
        let ended = timeout(PATIENCE, self.child.wait()).await;
        let status: ExitStatus = ended.expect("an end in time").expect("its status");
        assert!(status.success(), "{status}");
    }
}

/// Waits until a process handles Ctrl-C, which may be after its last line. Does not wait if this cannot be
/// observed.
async fn handles_interrupts(process: u32) {
    const INTERRUPT: u64 = 1 << (2 - 1);
    let handles = || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        Some(u64::from_str_radix(caught.trim(), 16).ok()? & INTERRUPT != 0)
    };
    let handled = async {
        while handles() == Some(false) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, handled).await.expect("a handler of Ctrl-C");
}

/// Returns the path of a program that `cargo test` has built with this test. Builds it if only this test was
/// requested.
async fn built(program: &str, package: &[&str]) -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let profile = test
        .parent()
        .and_then(|deps| deps.parent())
        .expect("a target folder");
    let program = profile.join(program);
    if !program.exists() {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let mut build = Command::new(cargo);
        build.arg("build").args(package);
        // Build scripts that depend on this package's variables would run again, and once more without them.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                build.env_remove(name);
            }
        }
        let built = build.status().await;
        assert!(built.expect("cargo").success());
    }
    program
}
