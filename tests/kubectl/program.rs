//! kubectl with its own home folder.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use conformance::{Folder, TestServer};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// Timeout of a command.
const PATIENCE: Duration = Duration::from_mins(1);

/// kubectl with a configuration, a cache and a working folder of this test alone.
pub(crate) struct Kubectl {
    pub(crate) server: TestServer,
    program: PathBuf,
    folder: Folder,
}

/// The exit code and the output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: i32,
}

impl Kubectl {
    /// Returns kubectl for the namespace of this server's test.
    ///
    /// # Panics
    /// If kubectl is not installed.
    pub(crate) async fn on(server: TestServer) -> Self {
        let program = find()
            .expect("kubectl in $KUBEBUILDER_ASSETS or on the PATH (`cargo xtask real-server` builds one)");
        let folder = Folder::create().expect("a folder");
        server.write_kubeconfig(&folder.path().join("config"));
        let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/kubectl/manifests");
        for file in fs::read_dir(manifests).expect("manifests") {
            let file = file.expect("a manifest").path();
            let text = fs::read_to_string(&file)
                .expect("text")
                .replace("{ns}", &server.namespace);
            fs::write(folder.path().join(file.file_name().expect("a name")), text).expect("a copy");
        }
        let kubectl = Self {
            server,
            program,
            folder,
        };
        kubectl.ok("config set-context --current --namespace={ns}").await;
        kubectl
    }

    /// Returns its working folder, which contains the manifests.
    pub(crate) fn folder(&self) -> &str {
        self.folder.path().to_str().expect("a UTF-8 path")
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, line: &str) -> CommandOutput {
        let output = timeout(PATIENCE, self.command(line).output()).await;
        let output = output
            .unwrap_or_else(|_| panic!("timeout of: kubectl {line}"))
            .expect("kubectl runs");
        CommandOutput {
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
            code: output.status.code().expect("an exit code"),
        }
    }

    /// Runs a command that must succeed, and returns its output.
    pub(crate) async fn ok(&self, line: &str) -> String {
        let output = self.run(line).await;
        assert_eq!(output.code, 0, "kubectl {line}: {output:?}");
        output.out
    }

    /// Returns its version, for example `v1.36.3`.
    pub(crate) async fn version(&self) -> String {
        let told: Value = serde_json::from_str(&self.ok("version --client -o json").await).expect("JSON");
        told["clientVersion"]["gitVersion"]
            .as_str()
            .expect("a version")
            .to_owned()
    }

    /// Starts a command and returns its output line by line.
    pub(crate) fn follow(&self, line: &str) -> RunningCommand {
        let mut child = self.command(line).spawn().expect("kubectl runs");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        RunningCommand {
            child,
            lines,
            line: line.to_owned(),
        }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(words(&line.replace("{ns}", &self.server.namespace)))
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("TMPDIR", self.folder.path())
            .env("KUBECONFIG", self.folder.path().join("config"))
            .env("KUBE_EDITOR", "sed -i s/blue/green/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }
}

/// A running command.
pub(crate) struct RunningCommand {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    line: String,
}

impl RunningCommand {
    /// Returns the next line of the output, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<String> {
        let next = timeout(PATIENCE, self.lines.next_line()).await;
        next.unwrap_or_else(|_| panic!("timeout of: kubectl {}", self.line))
            .expect("text")
    }

    /// Returns the next line that starts with a text, and skips others.
    pub(crate) async fn until(&mut self, beginning: &str) -> String {
        while let Some(line) = self.next().await {
            if line.starts_with(beginning) {
                return line;
            }
        }
        panic!("no line {beginning:?} in the output of: kubectl {}", self.line);
    }

    /// Waits for the end and returns the exit code.
    pub(crate) async fn end(mut self) -> i32 {
        while self.next().await.is_some() {}
        let status = timeout(PATIENCE, self.child.wait())
            .await
            .expect("an end")
            .expect("a status");
        status.code().expect("an exit code")
    }
}

fn find() -> Option<PathBuf> {
    let folders = [std::env::var_os("KUBEBUILDER_ASSETS"), std::env::var_os("PATH")];
    let folders: Vec<PathBuf> = folders.iter().flatten().flat_map(std::env::split_paths).collect();
    folders
        .into_iter()
        .map(|folder| folder.join("kubectl"))
        .find(|program| program.is_file())
}

/// Splits a command line into words; single quotes enclose words with spaces.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    assert!(!quoted, "unclosed quote: {line}");
    words.extend(word);
    words
}

#[test]
fn quotes_group_words() {
    assert_eq!(
        words("get  pods -o 'jsonpath={.a} {.b}'"),
        ["get", "pods", "-o", "jsonpath={.a} {.b}"]
    );
    assert_eq!(words("label x a='' --x='1 2'"), ["label", "x", "a=", "--x=1 2"]);
}
