//! Runs the program as a shell does.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::cluster::Cluster;

/// Timeout of every step.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-informer");

/// Returns the program with an empty environment.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .env("HOME", "/nonexistent")
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// The running program, connected by pipes.
pub(crate) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<Lines<BufReader<ChildStdout>>>,
    notes: Lines<BufReader<ChildStderr>>,
}

impl Program {
    pub(crate) fn start(cluster: &Cluster, arguments: &[&str]) -> Program {
        let mut command = command(arguments);
        command
            .env("KUBECONFIG", cluster.kubeconfig())
            .stdin(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        Program {
            input: child.stdin.take(),
            output: child.stdout.take().map(|output| BufReader::new(output).lines()),
            notes: BufReader::new(child.stderr.take().expect("its notes")).lines(),
            child,
        }
    }

    /// Reads the next line of standard output.
    pub(crate) async fn line(&mut self) -> String {
        let output = self.output.as_mut().expect("its output");
        next(output, &mut self.notes).await
    }

    /// Reads the next line of standard error.
    pub(crate) async fn note(&mut self) -> String {
        let line = timeout(TIMEOUT, self.notes.next_line()).await;
        line.expect("a note in time")
            .expect("text")
            .expect("a note before the end")
    }

    /// Reads lines up to one that contains a text.
    pub(crate) async fn until(&mut self, wanted: &str) -> String {
        loop {
            let line = self.line().await;
            if line.contains(wanted) {
                return line;
            }
        }
    }

    pub(crate) async fn type_line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("its input");
        let typed = input.write_all(format!("{line}\n").as_bytes()).await;
        typed.expect("it reads");
    }

    /// Closes the reading end of standard output.
    pub(crate) fn close_output(&mut self) {
        self.output = None;
    }

    /// Sends Ctrl-C, and waits for the end.
    pub(crate) async fn interrupt(self) -> ProgramOutput {
        self.signal("INT").await
    }

    /// Sends a signal, and waits for the end.
    pub(crate) async fn signal(self, name: &str) -> ProgramOutput {
        let id = self.child.id().expect("it runs");
        // `kill` is a builtin of every shell, but not a program on every machine.
        let kill = Command::new("sh")
            .args(["-c", &format!("kill -{name} {id}")])
            .status()
            .await;
        assert!(kill.expect("a shell").success());
        self.end().await
    }

    /// Waits until the program ends by itself.
    pub(crate) async fn end(mut self) -> ProgramOutput {
        drop(self.input.take());
        let ended = async {
            let (output, notes) = tokio::join!(
                async {
                    match self.output.take() {
                        Some(output) => rest(output.into_inner()).await,
                        None => String::new(),
                    }
                },
                rest(self.notes.into_inner()),
            );
            let status = self.child.wait().await.expect("its status");
            ProgramOutput::new(status, output, notes)
        };
        timeout(TIMEOUT, ended).await.expect("an end in time")
    }
}

async fn next(
    output: &mut Lines<BufReader<ChildStdout>>,
    notes: &mut Lines<BufReader<ChildStderr>>,
) -> String {
    let line = timeout(TIMEOUT, output.next_line()).await;
    match line.expect("a line in time").expect("text") {
        Some(line) => line,
        None => panic!("it ended: {:?}", notes.next_line().await),
    }
}

async fn rest(mut from: impl AsyncRead + Unpin) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).await.expect("text");
    text
}

/// The exit code and the output of the program.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    pub(crate) notes: String,
}

impl ProgramOutput {
    fn new(status: ExitStatus, output: String, notes: String) -> ProgramOutput {
        ProgramOutput {
            code: status.code(),
            output,
            notes,
        }
    }
}

/// Runs the program to its end.
pub(crate) async fn run(cluster: &Cluster, arguments: &[&str]) -> ProgramOutput {
    Program::start(cluster, arguments).end().await
}

/// Runs the program to its end without a cluster.
pub(crate) async fn run_alone(arguments: &[&str]) -> ProgramOutput {
    let ended = timeout(TIMEOUT, command(arguments).output()).await;
    let ended = ended.expect("an end in time").expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    ProgramOutput::new(ended.status, text(ended.stdout), text(ended.stderr))
}
