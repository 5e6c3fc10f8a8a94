//! Commands that run while objects change.

use conformance::TestServer;

use crate::program::{Kubectl, RunningCommand};

const STATUS: &str = "patch pod one --subresource=status --type=merge -p";

async fn running_pod(kubectl: &Kubectl) {
    kubectl.ok("run one --image=example.com/one:1").await;
}

async fn first_words(following: &mut RunningCommand) -> Vec<String> {
    let line = following.next().await.expect("a line");
    line.split_whitespace().take(4).map(str::to_owned).collect()
}

#[tokio::test]
#[ignore = "needs kubectl: cargo xtask test"]
async fn get_follows_changes() {
    let kubectl = Kubectl::on(TestServer::start().await).await;
    running_pod(&kubectl).await;
    let mut events = kubectl.follow("get pods --watch --output-watch-events");
    assert_eq!(
        first_words(&mut events).await,
        ["EVENT", "NAME", "READY", "STATUS"]
    );
    assert_eq!(first_words(&mut events).await, ["ADDED", "one", "0/1", "Pending"]);
    kubectl
        .ok(&format!(r#"{STATUS} '{{"status":{{"phase":"Running"}}}}'"#))
        .await;
    assert_eq!(
        first_words(&mut events).await,
        ["MODIFIED", "one", "0/1", "Running"]
    );
    kubectl.ok("delete pod one").await;
    events.until("DELETED").await;
}

#[tokio::test]
#[ignore = "needs kubectl: cargo xtask test"]
async fn get_ends_with_its_request() {
    let kubectl = Kubectl::on(TestServer::start().await).await;
    running_pod(&kubectl).await;
    let mut pods = kubectl.follow("get pods -w --request-timeout=2s -o name");
    assert_eq!(pods.next().await.as_deref(), Some("pod/one"));
    assert_eq!(pods.next().await, None);
    assert_eq!(pods.end().await, 0);
}

#[tokio::test]
#[ignore = "needs kubectl: cargo xtask test"]
async fn watch_only_skips_existing_objects() {
    let kubectl = Kubectl::on(TestServer::start().await).await;
    running_pod(&kubectl).await;
    let mut pods = kubectl.follow("get pods --watch-only --output-watch-events -o name");
    // There is no sign that the watch has started: objects are changed until an event arrives.
    let changes = async {
        for number in 0.. {
            kubectl
                .ok(&format!("label pod one number={number} --overwrite"))
                .await;
        }
    };
    tokio::select! {
        line = pods.next() => assert_eq!(line.as_deref(), Some("pod/one")),
        () = changes => {}
    }
}

#[tokio::test]
#[ignore = "needs kubectl: cargo xtask test"]
async fn wait_ends_when_the_condition_holds() {
    let kubectl = Kubectl::on(TestServer::start().await).await;
    running_pod(&kubectl).await;
    let mut ready = kubectl.follow("wait pod one --for=condition=Ready --timeout=60s");
    let mut phase = kubectl.follow("wait pod one --for=jsonpath={.status.phase}=Running --timeout=60s");
    let status = r#"{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}"#;
    kubectl.ok(&format!("{STATUS} '{status}'")).await;
    for waiting in [&mut ready, &mut phase] {
        assert_eq!(waiting.next().await.as_deref(), Some("pod/one condition met"));
    }
    assert_eq!((ready.end().await, phase.end().await), (0, 0));

    let gone = kubectl.follow("wait pod one --for=delete --timeout=60s");
    kubectl.ok("delete pod one --wait=false").await;
    assert_eq!(gone.end().await, 0);
}

#[tokio::test]
#[ignore = "needs kubectl: cargo xtask test"]
async fn rollout_status_follows_a_deployment_to_its_end() {
    let kubectl = Kubectl::on(TestServer::start().await).await;
    kubectl
        .ok("create deployment web --image=example.com/web:1 --replicas=2")
        .await;
    let mut rollout = kubectl.follow("rollout status deployment web --timeout=60s");
    rollout
        .until("Waiting for deployment spec update to be observed...")
        .await;
    let status = |ready: u32| {
        let counts = format!(
            r#""replicas":2,"updatedReplicas":2,"readyReplicas":{ready},"availableReplicas":{ready}"#
        );
        format!(
            r#"patch deployment web --subresource=status --type=merge -p '{{"status":{{"observedGeneration":1,{counts}}}}}'"#
        )
    };
    kubectl.ok(&status(1)).await;
    rollout
        .until("Waiting for deployment \"web\" rollout to finish: 1 of 2 updated replicas are available...")
        .await;
    kubectl.ok(&status(2)).await;
    rollout.until("deployment \"web\" successfully rolled out").await;
    assert_eq!(rollout.end().await, 0);
}

#[tokio::test]
#[ignore = "needs kubectl: cargo xtask test"]
async fn delete_waits_for_finalizers() {
    let kubectl = Kubectl::on(TestServer::start().await).await;
    kubectl.ok("create configmap held").await;
    kubectl
        .ok(r#"patch configmap held --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'"#)
        .await;
    let deletion = kubectl.follow("delete configmap held --timeout=60s");
    // There is no finalizer to remove before the deletion has started.
    let marked = "wait configmap held --for=jsonpath={.metadata.deletionGracePeriodSeconds}=0 --timeout=60s";
    kubectl.ok(marked).await;
    kubectl
        .ok(r#"patch configmap held --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'"#)
        .await;
    assert_eq!(deletion.end().await, 0);
    assert_eq!(kubectl.run("get configmap held").await.code, 1);
}
