//! A client-go program: built once, then controlled line by line.

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

/// Longer than the program's own timeout of a command.
const PATIENCE: Duration = Duration::from_secs(90);

/// The options of the program's client.
#[derive(Clone, Copy, Debug)]
pub struct ClientOptions {
    /// The content type of its requests; empty for client-go's default, which is protobuf where supported.
    pub content_type: &'static str,
    /// Whether informers start with a streaming list.
    pub streaming: bool,
}

/// JSON only, with streaming lists.
pub const JSON: ClientOptions = ClientOptions {
    content_type: "application/json",
    streaming: true,
};
/// client-go's defaults.
pub const DEFAULT: ClientOptions = ClientOptions {
    content_type: "",
    streaming: true,
};

/// The running program. Dropping it ends the program.
#[derive(Debug)]
pub struct ClientGoProgram {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _child: Child,
    _folder: Folder,
}

impl ClientGoProgram {
    /// Starts the program for the namespace of this server's test.
    ///
    /// # Panics
    /// If Go is not installed.
    pub async fn on(server: &TestServer, options: ClientOptions) -> Self {
        Self::with(
            |kubeconfig| server.write_kubeconfig(kubeconfig),
            &server.namespace,
            options,
        )
        .await
    }

    /// Like [`ClientGoProgram::on`], with a kubeconfig that the function writes to the given path.
    pub async fn with(write_kubeconfig: impl FnOnce(&Path), namespace: &str, options: ClientOptions) -> Self {
        let folder = Folder::create().expect("a folder");
        let kubeconfig = folder.path().join("config");
        write_kubeconfig(&kubeconfig);
        let mut child = Command::new(built().await)
            .args(["-namespace", namespace, "-content-type", options.content_type])
            .arg("-kubeconfig")
            .arg(kubeconfig)
            .env("KUBE_FEATURE_WatchListClient", options.streaming.to_string())
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

    /// Sends a command with an argument, and waits for the result. The command must succeed.
    pub async fn ask(&mut self, command: &str, argument: &Value) -> Value {
        let line = format!("{command} {argument}\n");
        self.input
            .write_all(line.as_bytes())
            .await
            .expect("the input of the program");
        let answer = timeout(PATIENCE, self.output.next_line()).await;
        let answer = answer
            .unwrap_or_else(|_| panic!("no response to {command}"))
            .expect("text");
        let answer = answer.unwrap_or_else(|| panic!("the program ended during {command}"));
        let mut answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert!(answer.get("error").is_none(), "{command}: {}", answer["error"]);
        answer["ok"].take()
    }

    /// Sends a command without an argument.
    pub async fn run(&mut self, command: &str) -> Value {
        self.ask(command, &Value::Null).await
    }
}

/// Returns the path of the program, which the first caller builds.
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

/// Returns a folder outside of the tree, the same as xtask's.
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
    fs::create_dir_all(&folder).expect("a cache folder");
    folder
}
