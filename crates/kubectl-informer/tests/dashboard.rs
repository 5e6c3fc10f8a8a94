//! The dashboards of `serve` and `demo`.

use std::process::Stdio;
use std::time::Duration;

use kube_embedded::Server;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// Timeout of every step.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The running program.
struct Program {
    child: Child,
    lines: tokio::io::Lines<BufReader<ChildStdout>>,
}

impl Program {
    fn start(args: &[&str]) -> Program {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kubectl-informer"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        Program { child, lines }
    }

    /// Returns the address of the dashboard that the program prints.
    async fn dashboard(&mut self) -> String {
        let found = timeout(TIMEOUT, async {
            loop {
                let line = self
                    .lines
                    .next_line()
                    .await
                    .expect("its output")
                    .expect("more of it");
                let address = line
                    .split("http://")
                    .nth(1)
                    .map(|rest| rest.trim_end_matches('/'));
                if let (true, Some(address)) = (line.starts_with("dashboard:"), address) {
                    return address.to_owned();
                }
            }
        });
        found.await.expect("an address in time")
    }

    /// Sends Ctrl-C, and reads the output to its end.
    async fn interrupt(mut self) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = Command::new("kill")
            .args(["-INT", &id])
            .status()
            .await
            .expect("kill");
        assert!(sent.success());
        let ended = timeout(TIMEOUT, async {
            while self.lines.next_line().await.expect("its output").is_some() {}
            self.child.wait().await.expect("its end")
        });
        let ended = ended.await.expect("it ends");
        assert!(ended.success(), "{ended}");
    }
}

async fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("a request");
    let mut response = String::new();
    stream.read_to_string(&mut response).await.expect("an answer");
    assert!(response.starts_with("HTTP/1.1 200"), "{path}: {response}");
    response.split("\r\n\r\n").nth(1).unwrap_or_default().to_owned()
}

/// Polls until all informers are live.
async fn live(address: &str) -> Value {
    let asking = async {
        loop {
            let overview: Value = serde_json::from_str(&get(address, "/api/overview").await).expect("JSON");
            let informers = overview["informers"].as_array().expect("informers");
            if informers.iter().all(|one| one["health"] == "live") {
                return overview;
            }
        }
    };
    timeout(TIMEOUT, asking).await.expect("live informers")
}

#[tokio::test]
async fn serve_shows_any_resources_and_metrics_until_ctrl_c() {
    let server = Server::start().await.expect("a server");
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": "default", "name": "m" } });
    server.load([map]).expect("an object");
    let kubeconfig = std::env::temp_dir().join(format!("kubectl-informer-serve-{}", std::process::id()));
    server.write_kubeconfig(&kubeconfig).expect("a kubeconfig");
    let path = kubeconfig.to_str().expect("a path");
    let mut program = Program::start(&["serve", "cm,ns", "nodes", "-A", "--kubeconfig", path]);
    let address = program.dashboard().await;
    let overview = live(&address).await;
    let ids: Vec<&Value> = overview["informers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["id"])
        .collect();
    assert_eq!(ids, ["configmaps", "namespaces", "nodes"]);
    let page = get(
        &address,
        "/api/objects?informer=configmaps&name=m&namespace=default",
    )
    .await;
    assert!(page.contains("\"default/m\""), "{page}");
    let metrics = get(&address, "/metrics").await;
    assert!(
        metrics.contains("informer_synced{") && metrics.contains("resource=\"nodes\""),
        "{metrics}"
    );
    program.interrupt().await;
    assert!(TcpStream::connect(&address).await.is_err());
    std::fs::remove_file(&kubeconfig).expect("the kubeconfig");
}

#[cfg(feature = "demo")]
#[tokio::test]
async fn the_demo_serves_a_live_dashboard_and_exits_cleanly() {
    let kubeconfig = std::env::temp_dir().join(format!("kubectl-informer-demo-{}", std::process::id()));
    let path = kubeconfig.to_str().expect("a path");
    let mut program = Program::start(&["demo", "--pace", "20", "--write-kubeconfig", path]);
    let address = program.dashboard().await;
    let reading = tokio::spawn(async move {
        // The output is read, or the demo would wait for its reader.
        for _ in 0..20 {
            program
                .lines
                .next_line()
                .await
                .expect("its output")
                .expect("a line");
        }
        program
    });
    let overview = live(&address).await;
    let names: Vec<&Value> = overview["queues"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["deployments", "backups"]);
    let program = timeout(TIMEOUT, reading)
        .await
        .expect("changes")
        .expect("a reader");
    let overview = live(&address).await;
    assert!(overview["queues"][0]["done"].as_u64() > Some(0), "{overview}");
    let secrets = get(
        &address,
        "/api/object?informer=secrets&key=shop/checkout-credentials",
    )
    .await;
    assert!(
        secrets.contains("not shown") && !secrets.contains("Y29ycmVjdCBob3JzZ"),
        "{secrets}"
    );
    program.interrupt().await;
    assert!(!kubeconfig.exists(), "the demo deletes its kubeconfig");
}
