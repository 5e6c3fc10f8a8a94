//! A server, informers, a dashboard and a browser.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

use conformance::Folder;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use kube_embedded::Server;
use kube_informer::prelude::*;
use kube_informer_dashboard::{Dashboard, DashboardServer};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use crate::webdriver::{Browser, BrowserPrograms, PATIENCE};

/// A password, and its base64 encoding.
pub(crate) const PASSWORD: &str = "hunter2-planted";
pub(crate) const ENCODED: &str = "aHVudGVyMi1wbGFudGVk";

/// The fixture of a test.
pub(crate) struct DashboardFixture {
    pub(crate) server: Server,
    pub(crate) factory: SharedInformerFactory,
    pub(crate) queue: WorkQueue<Key>,
    pub(crate) dashboard: DashboardServer,
    pub(crate) browser: Browser,
    stop: CancellationToken,
    folder: Folder,
}

impl DashboardFixture {
    /// Starts a small cluster and opens the dashboard in a browser.
    ///
    /// # Panics
    /// If there is no browser.
    pub(crate) async fn open(width: u32, height: u32) -> DashboardFixture {
        let programs = BrowserPrograms::find()
            .expect("chromium and chromedriver on the PATH (Debian: chromium, chromium-driver)");
        let server = Server::start().await.expect("a server");
        server.load(objects()).expect("objects");
        let factory = SharedInformerFactory::new(server.client().expect("a client"));
        let pods = informer(&factory, "", "Pod", "pods");
        pods.index("node", |pod: &DynamicObject| {
            pod.data["spec"]["nodeName"].as_str().map(str::to_owned)
        })
        .expect("an index");
        let deployments = informer(&factory, "apps", "Deployment", "deployments");
        informer(&factory, "", "Node", "nodes");
        informer(&factory, "", "Secret", "secrets");
        let queue = WorkQueue::builder("deployments").track_age().build();
        let named = HandlerOptions::new().name("enqueue deployments");
        deployments
            .add_handler_with(enqueue_keys(&queue), named)
            .expect("a handler");
        let named = HandlerOptions::new().name("enqueue owners");
        pods.add_handler_with(enqueue_mapped(&queue, owner), named)
            .expect("a handler");
        let stop = CancellationToken::new();
        let failures = AtomicU32::new(0);
        let reconcile = move |key: Task<Key>| std::future::ready(reconcile(&key, &failures));
        tokio::spawn(workers(queue.clone(), 2, reconcile).run(stop.clone()));
        let dashboard = Dashboard::new()
            .factory(&factory)
            .queue(&queue)
            .start()
            .await
            .expect("a port");
        factory.start();
        let browser = Browser::open(&programs, width, height).await;
        listen(&browser).await;
        let folder = Folder::create().expect("a folder");
        server
            .write_kubeconfig(folder.path().join("config"))
            .expect("a kubeconfig");
        DashboardFixture {
            server,
            factory,
            queue,
            dashboard,
            browser,
            stop,
            folder,
        }
    }

    /// Opens a view, for example `#/informer/pods`.
    pub(crate) async fn go(&self, place: &str) {
        self.browser.go(&format!("{}{place}", self.dashboard.url())).await;
    }

    /// Creates a pod with kubectl, or with the client if kubectl is not installed.
    pub(crate) async fn create_pod(&self, name: &str, node: &str) {
        let pod = pod("shop", name, node, "cart", "Running");
        let Some(kubectl) = kubectl() else {
            static NOTICE: Once = Once::new();
            NOTICE.call_once(|| {
                let text =
                    "kubectl is not in $KUBEBUILDER_ASSETS or on the PATH: objects are created by the client";
                let _ = writeln!(std::io::stderr(), "{text}");
            });
            self.server.load([pod]).expect("a pod");
            return;
        };
        let file = self.folder.path().join(format!("{name}.json"));
        fs::write(&file, pod.to_string()).expect("a file");
        let mut command = Command::new(kubectl);
        command
            .arg("create")
            .arg("--kubeconfig")
            .arg(self.folder.path().join("config"))
            .arg("--cache-dir")
            .arg(self.folder.path())
            .arg("-f")
            .arg(file)
            .kill_on_drop(true);
        let output = timeout(PATIENCE, command.output())
            .await
            .expect("kubectl ends")
            .expect("kubectl");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Returns all responses so far, and the page itself.
    pub(crate) async fn responses(&self) -> String {
        let responses = self
            .browser
            .eval("window.responses.join('\\n') + document.documentElement.outerHTML")
            .await;
        responses.as_str().expect("text").to_owned()
    }

    /// Stops everything. Fails if the page has logged errors.
    pub(crate) async fn close(self) {
        let complaints = self.browser.complaints().await;
        assert!(complaints.is_empty(), "{complaints:#?}");
        self.browser.close().await;
        self.dashboard.stop().await;
        self.stop.cancel();
        self.factory.shutdown().await;
        self.server.stop().await;
    }
}

/// Records every response in the page, before its scripts run.
async fn listen(browser: &Browser) {
    let source = "window.responses = [];
        const real = window.fetch;
        window.fetch = async (...asked) => {
          const answer = await real(...asked);
          window.responses.push(await answer.clone().text());
          return answer;
        };";
    browser
        .command(
            "Page.addScriptToEvaluateOnNewDocument",
            &json!({ "source": source }),
        )
        .await;
}

/// Fails twice for one key, and succeeds afterwards.
fn reconcile(key: &Key, failures: &AtomicU32) -> Result<(), String> {
    if key.name() == "ingest" && failures.fetch_add(1, Ordering::Relaxed) < 2 {
        return Err("not yet".to_owned());
    }
    Ok(())
}

fn informer(
    factory: &SharedInformerFactory,
    group: &str,
    kind: &str,
    plural: &str,
) -> SharedInformer<DynamicObject> {
    let kind = GroupVersionKind::gvk(group, "v1", kind);
    factory.dynamic(ApiResource::from_gvk_with_plural(&kind, plural))
}

/// Returns the deployment of a pod, by its label.
fn owner(pod: &Object<DynamicObject>) -> Option<Key> {
    let app = pod.label("app")?;
    Some(Key::namespaced(pod.key().namespace()?, &app))
}

fn kubectl() -> Option<PathBuf> {
    let assets = env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = assets.into_iter().chain(env::split_paths(&path));
    folders
        .map(|folder| folder.join("kubectl"))
        .find(|file| file.is_file())
}

/// Returns two applications of three pods each, on two nodes, and a Secret.
fn objects() -> Vec<Value> {
    let mut objects = Vec::new();
    for name in ["shop", "data"] {
        objects.push(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }));
    }
    for name in ["north", "south"] {
        objects.push(json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
        }));
    }
    for (namespace, app) in [("shop", "cart"), ("data", "ingest")] {
        objects.push(deployment(namespace, app, &format!("{app}:1")));
        for at in 0..3 {
            let node = if at == 1 { "south" } else { "north" };
            objects.push(pod(
                namespace,
                &format!("{app}-{at}"),
                node,
                app,
                if at == 2 { "Pending" } else { "Running" },
            ));
        }
    }
    objects.push(secret(PASSWORD));
    objects
}

pub(crate) fn secret(password: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "namespace": "shop", "name": "credentials", "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": format!("{{\"stringData\":{{\"password\":\"{PASSWORD}\"}}}}"),
        } },
        "stringData": { "password": password },
    })
}

pub(crate) fn deployment(namespace: &str, app: &str, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "namespace": namespace, "name": app, "labels": { "app": app } },
        "spec": {
            "replicas": 3,
            "selector": { "matchLabels": { "app": app } },
            "template": {
                "metadata": { "labels": { "app": app } },
                "spec": { "containers": [{ "name": "main", "image": image }] },
            },
        },
    })
}

pub(crate) fn pod(namespace: &str, name: &str, node: &str, app: &str, phase: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "namespace": namespace, "name": name, "labels": { "app": app },
        },
        "spec": { "nodeName": node, "containers": [{ "name": "main", "image": format!("{app}:1") }] },
        "status": { "phase": phase },
    })
}
