//! The program `kube-embedded`.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

/// A folder that is deleted at the end of the test.
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

/// Starts the program and waits until it reports that the kubeconfig is written.
fn serve(kubeconfig: &Path, more: &[&str]) -> (Child, Vec<String>) {
    let mut child = program()
        .arg("--write-kubeconfig")
        .arg(kubeconfig)
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
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

fn terminate(child: Child) -> Output {
    // The kill of the shell, because not every machine has one as a program.
    let killed = Command::new("sh")
        .args(["-c", &format!("kill {}", child.id())])
        .status()
        .expect("a shell");
    assert!(killed.success());
    child.wait_with_output().expect("it ends")
}

fn refusal(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn it_serves_loaded_objects_until_it_is_stopped() {
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

    assert!(terminate(child).status.success());
    assert!(!kubeconfig.exists(), "the program deletes its kubeconfig");
}

/// Runs the program with a file of the user and returns its output. It must exit without changing the file.
fn run_with_file_of_the_user(flag: &str, more: &[&str]) -> (Option<i32>, String) {
    let folder = Folder::new(flag.trim_start_matches('-'));
    let file = folder.file("config");
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: production\n";
    std::fs::write(&file, text).expect("a file");
    let mut child = program()
        .arg(flag)
        .arg(&file)
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let written = lines
        .map_while(Result::ok)
        .any(|line| line.contains("kubeconfig"));
    if written {
        child.kill().expect("it ends");
    }
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), text);
    let said = String::from_utf8_lossy(&output.stderr).replace(&*file.to_string_lossy(), "FILE");
    (output.status.code(), said)
}

#[test]
fn it_rejects_the_flag_kubeconfig() {
    // A program that ignored the flag would fail because of the port.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let (code, said) = run_with_file_of_the_user("--kubeconfig", &["--port", &port]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("hint: use --write-kubeconfig FILE"), "{said}");
}

#[test]
fn it_does_not_overwrite_a_file_of_the_user() {
    let (code, said) = run_with_file_of_the_user("--write-kubeconfig", &[]);
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(
        said,
        "kube-embedded: cannot write the kubeconfig to \"FILE\": the file exists and was not written by this program\n\
         hint: choose a path that does not exist\n"
    );
}

#[test]
fn it_keeps_a_kubeconfig_that_was_changed_while_it_ran() {
    let folder = Folder::new("changed");
    let kubeconfig = folder.file("kubeconfig");
    let (child, _) = serve(&kubeconfig, &[]);
    std::fs::write(&kubeconfig, "of the user").expect("a change");
    let output = terminate(child);
    assert_eq!(
        std::fs::read_to_string(&kubeconfig).expect("the file"),
        "of the user"
    );
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("cannot delete the kubeconfig") && said.contains("was changed"),
        "{said}"
    );
}

#[test]
fn it_replaces_the_kubeconfig_of_an_earlier_run() {
    let folder = Folder::new("left-behind");
    let kubeconfig = folder.file("kubeconfig");
    let (mut killed, _) = serve(&kubeconfig, &[]);
    killed.kill().expect("it ends");
    killed.wait().expect("it ends");
    let left = std::fs::read(&kubeconfig).expect("a file that is left behind");
    let (child, _) = serve(&kubeconfig, &[]);
    assert_ne!(std::fs::read(&kubeconfig).expect("the file"), left);
    assert!(terminate(child).status.success());
    assert!(!kubeconfig.exists());
}

#[test]
fn it_reports_invalid_manifests() {
    let folder = Folder::new("manifests");
    let manifest = folder.file("bad.yaml");
    for (text, wanted) in [
        (
            "kind: Pod\napiVersion: v1\nmetadata: {name: a}\n",
            "cannot load Pod \"a\": Pod \"a\" is invalid: spec.containers: Required value",
        ),
        (
            "kind: Thing\napiVersion: v1\nmetadata: {name: a}\n",
            "cannot load Thing \"a\": unknown kind \"Thing\" in version \"v1\"",
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
fn it_reports_a_port_in_use() {
    let folder = Folder::new("port");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let kubeconfig = folder.file("kubeconfig");
    let output = program()
        .args(["--port", &port, "--write-kubeconfig"])
        .arg(&kubeconfig)
        .output()
        .expect("it runs");
    let said = refusal(&output);
    assert!(
        said.starts_with(&format!("kube-embedded: cannot listen on 127.0.0.1:{port}: "))
            && said.ends_with("hint: choose another port\n"),
        "{said}"
    );
    assert!(!kubeconfig.exists());
}

#[tokio::test]
async fn it_authorizes_requests_with_rbac() {
    let folder = Folder::new("rbac");
    let kubeconfig = folder.file("kubeconfig");
    let (child, _) = serve(&kubeconfig, &["--authorization-mode", "RBAC"]);
    let written = Kubeconfig::read_from(&kubeconfig).expect("a kubeconfig");
    let mut config = Config::from_custom_kubeconfig(written, &KubeConfigOptions::default())
        .await
        .expect("a configuration");
    let maps = |config: &Config| -> Api<ConfigMap> {
        Api::default_namespaced(Client::try_from(config.clone()).expect("a client"))
    };
    let listed = maps(&config).list(&ListParams::default()).await;
    assert!(listed.is_ok(), "{listed:?}");
    config.auth_info.token = None;
    match maps(&config).list(&ListParams::default()).await {
        Err(kube::Error::Api(status)) => assert_eq!(status.code, 403),
        other => panic!("expected a refusal, got {other:?}"),
    }
    assert!(terminate(child).status.success());
}
