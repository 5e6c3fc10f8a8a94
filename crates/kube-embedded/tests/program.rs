//! The program `kube-embedded`, as people of any language use it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("kube-embedded-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kube-embedded"))
}

/// Starts the program and waits until it says that the kubeconfig is there.
fn serve(kubeconfig: &Path, more: &[&str]) -> (Child, Vec<String>) {
    let mut child = program()
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(more)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut said = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("its output")).lines() {
        said.push(line.expect("text"));
        if said
            .last()
            .is_some_and(|line| line.starts_with("kubeconfig written"))
        {
            return (child, said);
        }
    }
    let status = child.wait().expect("it ends");
    panic!("the program ended with {status}: {said:?}");
}

fn terminate(mut child: Child) -> std::process::ExitStatus {
    // Every shell has it; not every machine has it as a program.
    let killed = Command::new("sh")
        .args(["-c", &format!("kill {}", child.id())])
        .status()
        .expect("a shell");
    assert!(killed.success());
    child.wait().expect("it ends")
}

fn refusal(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn it_serves_what_it_loaded_until_it_is_stopped() {
    let folder = Folder::new("serves");
    let manifests = folder.file("manifests.yaml");
    let text = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: greeting}
data: {hello: world}
";
    std::fs::write(&manifests, text).expect("manifests");
    let kubeconfig = folder.file("kubeconfig");
    let (child, said) = serve(&kubeconfig, &["--load", manifests.to_str().expect("a path")]);
    assert!(said[0].starts_with("loaded 3 objects from"), "{said:?}");

    let read = Kubeconfig::read_from(&kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
        .await
        .expect("a config");
    let client = Client::try_from(config).expect("a client");
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let map = maps.get("greeting").await.expect("the object");
    assert_eq!(
        map.data.and_then(|d| d.get("hello").cloned()).as_deref(),
        Some("world")
    );

    assert!(terminate(child).success());
    assert!(!kubeconfig.exists(), "the kubeconfig leads nowhere and is gone");
}

#[test]
fn it_says_what_is_wrong_with_its_manifests() {
    let folder = Folder::new("manifests");
    let manifest = folder.file("bad.yaml");
    for (text, wanted) in [
        (
            "kind: Pod\napiVersion: v1\nmetadata: {name: a}\n",
            "cannot load Pod \"a\": Pod \"a\" is invalid: spec.containers: Required value",
        ),
        (
            "kind: Thing\napiVersion: v1\nmetadata: {name: a}\n",
            "no kind \"Thing\" in version \"v1\" is served",
        ),
        ("kind: [\n", "bad.yaml"),
    ] {
        std::fs::write(&manifest, text).expect("a manifest");
        let said = refusal(&program().arg("--load").arg(&manifest).output().expect("it runs"));
        assert!(said.contains(wanted), "{said}");
    }
    let said = refusal(
        &program()
            .arg("--load")
            .arg(folder.file("missing.yaml"))
            .output()
            .expect("it runs"),
    );
    assert!(
        said.contains("cannot read") && said.contains("missing.yaml"),
        "{said}"
    );
}

#[test]
fn it_says_when_its_port_is_taken() {
    let folder = Folder::new("port");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let kubeconfig = folder.file("kubeconfig");
    let output = program()
        .args(["--port", &port, "--kubeconfig"])
        .arg(&kubeconfig)
        .output()
        .expect("it runs");
    let said = refusal(&output);
    assert!(
        said.contains(&format!("cannot listen on 127.0.0.1:{port}; is the port in use?")),
        "{said}"
    );
    assert!(!kubeconfig.exists());
}
