//! A program with client-go: built once, then spoken to line by line.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use std::{env, fs};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::{Folder, TestServer};

/// Longer than the program's own patience with one command.
const PATIENCE: Duration = Duration::from_secs(90);

/// How the program is to speak to the server.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// The content type of its requests; empty for client-go's own choice, which is protobuf where that goes.
    pub content_type: &'static str,
    /// Whether informers begin with a streaming list.
    pub streaming: bool,
}

/// JSON all through, with streaming lists.
pub const JSON: Manner = Manner {
    content_type: "application/json",
    streaming: true,
};
/// What client-go does when it is not told otherwise.
pub const DEFAULT: Manner = Manner {
    content_type: "",
    streaming: true,
};

/// The program, running. It ends with this value.
#[derive(Debug)]
pub struct Program {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _child: Child,
    _folder: Folder,
}

impl Program {
    /// Starts the program in the namespace of this server's test.
    ///
    /// # Panics
    /// When there is no Go to build it.
    pub async fn on(server: &TestServer, manner: Manner) -> Self {
        Self::with(
            |kubeconfig| server.write_kubeconfig(kubeconfig),
            &server.namespace,
            manner,
        )
        .await
    }

    /// The same with a kubeconfig of one's own, which is written to the path that the function is given.
    pub async fn with(write_kubeconfig: impl FnOnce(&Path), namespace: &str, manner: Manner) -> Self {
        let folder = Folder::create().expect("a folder");
        let kubeconfig = folder.path().join("config");
        write_kubeconfig(&kubeconfig);
        let mut child = Command::new(built().await)
            .args(["-namespace", namespace, "-content-type", manner.content_type])
            .arg("-kubeconfig")
            .arg(kubeconfig)
            .env("KUBE_FEATURE_WatchListClient", manner.streaming.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the program runs");
        Self {
            input: child.stdin.take().expect("its input"),
            output: BufReader::new(child.stdout.take().expect("its output")).lines(),
            _child: child,
            _folder: folder,
        }
    }

    /// Gives a command and its argument, and waits for the answer, which has to be a success.
    pub async fn ask(&mut self, command: &str, argument: &Value) -> Value {
        let line = format!("{command} {argument}\n");
        self.input
            .write_all(line.as_bytes())
            .await
            .expect("the program listens");
        let answer = timeout(PATIENCE, self.output.next_line()).await;
        let answer = answer
            .unwrap_or_else(|_| panic!("no answer to {command}"))
            .expect("text");
        let answer = answer.unwrap_or_else(|| panic!("the program ended over {command}"));
        let mut answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert!(answer.get("error").is_none(), "{command}: {}", answer["error"]);
        answer["ok"].take()
    }

    /// Gives a command that takes no argument.
    pub async fn run(&mut self, command: &str) -> Value {
        self.ask(command, &Value::Null).await
    }
}

/// The program's file, built by the first test that asks.
async fn built() -> &'static Path {
    static BUILT: OnceCell<PathBuf> = OnceCell::const_new();
    BUILT.get_or_init(build).await
}

async fn build() -> PathBuf {
    let program = cache().join("client-go-program");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/client_go/go");
    let mut go = Command::new("go");
    go.args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(source)
        .env("GOWORK", "off");
    let output = go
        .output()
        .await
        .expect("Go on the PATH to build tests/client_go/go with");
    assert!(
        output.status.success(),
        "tests/client_go/go: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

/// A folder outside the tree, as xtask's.
fn cache() -> PathBuf {
    let variable = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let folder = variable("KUBE_INFORMER_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("kube-informer")))
        .or_else(|| variable("HOME").map(|folder| folder.join(".cache/kube-informer")))
        .unwrap_or_else(|| env::temp_dir().join("kube-informer"));
    fs::create_dir_all(&folder).expect("a folder for what is built");
    folder
}
