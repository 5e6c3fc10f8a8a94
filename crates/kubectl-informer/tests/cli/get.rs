//! `get`: a single query.

use std::time::Duration;

use kube_embedded::{Fault, On};
use serde_json::Value;

use super::cluster::{Cluster, config_map, namespace, pod};
use super::program::{Program, run};

const NODE: &str = "node=.spec.nodeName";

async fn pods() -> Cluster {
    let cluster = Cluster::start().await;
    cluster.put(pod("web-1", "north", "web:1"));
    cluster.put(pod("web-2", "north", "web:2"));
    cluster.put(pod("web-3", "south", "web:1"));
    cluster
}

#[tokio::test]
async fn an_index_finds_objects_by_any_field() {
    let cluster = pods().await;
    let images = "image=.spec.containers[*].image";
    let name = r"name=.metadata.labels.app\.kubernetes\.io/name";
    for (words, found) in [
        (
            &["--index", NODE, "--by", "node=north"][..],
            "pod/web-1\npod/web-2\n",
        ),
        (
            &["--index", images, "--by", "image=web:1"],
            "pod/web-1\npod/web-3\n",
        ),
        (
            &[
                "--index",
                NODE,
                "--index",
                images,
                "--by",
                "node=north",
                "--by",
                "image=web:1",
            ],
            "pod/web-1\n",
        ),
        (&["--index", name, "--by", "name=shop", "-l", "tier=back"], ""),
        (&["--index", NODE, "--by", "node=west"], ""),
        (&[], "pod/web-1\npod/web-2\npod/web-3\n"),
        (&["web-2"], "pod/web-2\n"),
    ] {
        let ended = run(&cluster, &[&["get", "pods", "-o", "name"], words].concat()).await;
        assert_eq!((ended.code, ended.output.as_str()), (Some(0), found), "{words:?}");
        let notes = if found.is_empty() {
            "No resources found.\n"
        } else {
            ""
        };
        assert_eq!(ended.notes, notes, "{words:?}");
    }
}

#[tokio::test]
async fn tables_look_like_kubectls() {
    let cluster = pods().await;
    let ended = run(
        &cluster,
        &["get", "po", "-A", "--index", NODE, "--by", "node=south"],
    )
    .await;
    let lines: Vec<_> = ended.output.lines().collect();
    assert_eq!(lines[0], "NAMESPACE   NAME    READY   STATUS    RESTARTS   AGE");
    assert!(
        lines[1].starts_with("default     web-3   0/1     Running   0"),
        "{ended:?}"
    );
    assert_eq!(lines.len(), 2);
    let ended = run(&cluster, &["get", "po", "web-3", "-o", "wide"]).await;
    assert!(ended.output.contains(" south "), "{ended:?}");
}

#[tokio::test]
async fn objects_are_printed_as_a_list_or_alone() {
    let cluster = pods().await;
    let ended = run(&cluster, &["get", "pods", "-o", "json"]).await;
    let list: Value = serde_json::from_str(&ended.output).expect("JSON");
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&"List".into(), &"v1".into())
    );
    assert_eq!(list["items"].as_array().map(Vec::len), Some(3));
    assert_eq!(list["items"][0]["kind"], "Pod");
    let ended = run(&cluster, &["get", "pod/web-1", "-o", "json"]).await;
    let pod: Value = serde_json::from_str(&ended.output).expect("JSON");
    assert_eq!(pod["metadata"]["name"], "web-1");

    let ended = run(&cluster, &["get", "pods", "-o", "yaml"]).await;
    assert!(
        ended
            .output
            .starts_with("apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n")
    );
    assert!(
        ended
            .output
            .ends_with("\nkind: List\nmetadata:\n  resourceVersion: \"\"\n")
    );
    let ended = run(&cluster, &["get", "pods", "web-1", "-o", "yaml"]).await;
    assert!(
        ended.output.starts_with("apiVersion: v1\nkind: Pod\n"),
        "{ended:?}"
    );

    let ended = run(&cluster, &["get", "cm", "-o", "json"]).await;
    let none: Value = serde_json::from_str(&ended.output).expect("JSON");
    assert_eq!(none["items"], serde_json::json!([]));
    let ended = run(&cluster, &["get", "cm", "-o", "yaml"]).await;
    assert!(
        ended
            .output
            .starts_with("apiVersion: v1\nitems: []\nkind: List\n"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn a_missing_name_is_a_failure() {
    let cluster = Cluster::start().await;
    cluster.put(namespace("shop"));
    cluster.put(config_map("shop", "colours", "red"));
    let ended = run(&cluster, &["get", "cm", "colours"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.notes.contains("configmaps \"colours\" not found"),
        "{ended:?}"
    );
    let ended = run(&cluster, &["get", "cm", "colours", "-n", "shop"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// A script would take an empty output for a cluster without pods.
#[tokio::test]
async fn a_stopped_query_fails() {
    let cluster = pods().await;
    let never = Fault::Delay(Duration::from_secs(60 * 60));
    cluster.server.faults().add(On::list_or_watch("pods"), never);
    for (signal, words, code) in [
        ("INT", &["get", "pods"][..], 130),
        ("TERM", &["get", "pods"], 143),
        ("TERM", &["get", "pods", "--prompt"], 0),
    ] {
        cluster.server.forget_requests();
        let program = Program::start(&cluster, words);
        let asked = cluster
            .server
            .wait_for_request(|request| request.resource == "pods");
        asked.await;
        let ended = program.signal(signal).await;
        assert_eq!(ended.code, Some(code), "{signal} {words:?}: {ended:?}");
        assert_eq!((ended.output.as_str(), ended.notes.as_str()), ("", ""));
    }
}
