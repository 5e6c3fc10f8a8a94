//! `watch` in a pipe.

use kube_embedded::{Fault, On};
use serde_json::json;

use super::cluster::{Cluster, backups, config_map, namespace, pod, secret};
use super::program::Program;

#[tokio::test]
async fn prints_a_table_and_then_changes() {
    let cluster = Cluster::start().await;
    cluster.put(pod("web-1", "north", "web:1"));
    let mut program = Program::start(&cluster, &["watch", "pods"]);
    assert_eq!(program.line().await, "  NAME    READY   STATUS    RESTARTS   AGE");
    let row = program.line().await;
    assert!(row.starts_with("  web-1   0/1     Running   0"), "{row}");

    cluster.put(pod("web-2", "south", "web:1"));
    let row = program.line().await;
    assert!(row.starts_with("+ web-2   0/1     Running   0"), "{row}");

    let image = json!({ "spec": { "containers": [{ "name": "web", "image": "web:2" }] } });
    cluster.patch_pod("web-1", image).await;
    let row = program.line().await;
    assert!(row.starts_with("~ web-1   0/1     Running   0"), "{row}");
    assert!(
        row.ends_with("s   spec.containers[web].image: web:1 → web:2"),
        "{row}"
    );

    cluster.delete_pod("web-2").await;
    let row = program.line().await;
    assert!(row.starts_with("- web-2 "), "{row}");

    let ended = program.interrupt().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!((ended.output.as_str(), ended.notes.as_str()), ("", ""));
}

#[tokio::test]
async fn names_have_their_kind_if_several_kinds_are_watched() {
    let cluster = Cluster::start().await;
    cluster.put(config_map("default", "colours", "red"));
    cluster.put(pod("web-1", "north", "web:1"));
    for words in [&["watch", "cm,po"][..], &["watch", "configmap", "Pod"]] {
        let mut program = Program::start(&cluster, words);
        assert!(program.line().await.starts_with("  NAME "));
        assert!(program.line().await.starts_with("  configmap/colours "));
        assert!(program.line().await.starts_with("  NAME "));
        assert!(program.line().await.starts_with("  pod/web-1 "));
        cluster.put(pod("web-2", "north", "web:1"));
        assert!(program.line().await.starts_with("+ pod/web-2 "));
        cluster.put(config_map("default", "sizes", "large"));
        assert!(program.line().await.starts_with("+ configmap/sizes "));
        cluster.delete_pod("web-2").await;
        cluster.server.delete("configmaps", Some("default"), "sizes");
        assert_eq!(program.interrupt().await.code, Some(0));
    }
}

#[tokio::test]
async fn selects_by_namespace_label_field_and_name() {
    let cluster = Cluster::start().await;
    cluster.put(namespace("shop"));
    cluster.put(config_map("shop", "colours", "red"));
    cluster.put(config_map("shop", "sizes", "large"));
    cluster.put(config_map("default", "colours", "blue"));
    for (words, rows) in [
        (
            &["cm", "-A"][..],
            &[
                "default     colours ",
                "shop        colours ",
                "shop        sizes ",
            ][..],
        ),
        (&["cm", "-n", "shop"], &["colours ", "sizes "]),
        (&["cm", "-n", "shop", "-l", "app=sizes"], &["sizes "]),
        (&["cm", "-n", "shop", "-l", "app notin (sizes)"], &["colours "]),
        (
            &["cm", "--field-selector", "metadata.namespace=shop", "-A"],
            &["shop        colours ", "shop        sizes "],
        ),
        (&["cm/colours", "-n", "shop"], &["colours "]),
    ] {
        let mut program = Program::start(&cluster, &[&["watch"], words].concat());
        program.line().await;
        for row in rows {
            let line = program.line().await;
            assert!(line.starts_with(&format!("  {row}")), "{words:?}: {line}");
        }
        let ended = program.interrupt().await;
        assert_eq!(ended.output, "", "{words:?}");
    }
}

#[tokio::test]
async fn changes_only_omits_the_initial_objects() {
    let cluster = Cluster::start().await;
    cluster.put(config_map("default", "colours", "red"));
    let mut program = Program::start(&cluster, &["watch", "cm", "--changes-only"]);
    assert_eq!(program.note().await, "1 object; waiting for changes");
    cluster.put(config_map("default", "colours", "blue"));
    let row = program.line().await;
    assert!(
        row.starts_with("~ colours ") && row.ends_with("data.key: red → blue"),
        "{row}"
    );
}

#[tokio::test]
async fn an_empty_list_prints_a_message() {
    let cluster = Cluster::start().await;
    let mut program = Program::start(&cluster, &["watch", "cm"]);
    assert_eq!(program.note().await, "no objects yet; waiting for changes");
    cluster.put(config_map("default", "colours", "red"));
    assert!(program.line().await.starts_with("+ colours "));
}

#[tokio::test]
async fn the_values_of_a_secret_are_not_shown() {
    let cluster = Cluster::start().await;
    cluster.put(secret("door", "hunter2"));
    let mut program = Program::start(&cluster, &["watch", "secrets", "-o", "wide"]);
    program.until("door").await;
    cluster.put(secret("door", "hunter3"));
    let row = program.line().await;
    assert!(row.ends_with("data.password: changed"), "{row}");
}

#[tokio::test]
async fn a_custom_resource_has_the_columns_of_its_definition() {
    let cluster = Cluster::start().await;
    cluster.put(backups());
    cluster.put(json!({
        "apiVersion": "demo.example/v1", "kind": "Backup",
        "metadata": { "name": "nightly", "namespace": "default" }, "phase": "Done",
    }));
    let mut program = Program::start(&cluster, &["watch", "bk"]);
    assert_eq!(program.line().await, "  NAME      PHASE");
    assert_eq!(program.line().await, "  nightly   Done");

    // Without permission to read the definition, the columns are name and age.
    cluster
        .server
        .faults()
        .add(On::get("customresourcedefinitions"), Fault::forbidden());
    let mut program = Program::start(&cluster, &["watch", "backups.demo.example"]);
    assert_eq!(program.line().await, "  NAME      AGE");
    assert!(program.line().await.starts_with("  nightly   "));
}

#[tokio::test]
async fn a_resync_repeats_the_cached_objects() {
    let cluster = Cluster::start().await;
    cluster.put(config_map("default", "colours", "red"));
    let mut program = Program::start(&cluster, &["watch", "cm", "--resync", "1s"]);
    program.until("  colours").await;
    let row = program.line().await;
    assert!(row.starts_with("= colours "), "{row}");
}

#[tokio::test]
async fn requests_only_metadata_if_that_is_sufficient() {
    let cluster = Cluster::start().await;
    cluster.put(pod("web-1", "north", "web:1"));
    let mut program = Program::start(&cluster, &["watch", "pods", "--metadata-only"]);
    assert_eq!(program.line().await, "  NAME    AGE");
    assert!(program.line().await.starts_with("  web-1   "));
    let change = json!({
        "metadata": { "labels": { "tier": "back" } },
        "spec": { "containers": [{ "name": "web", "image": "web:2" }] },
    });
    cluster.patch_pod("web-1", change).await;
    let row = program.line().await;
    assert!(row.ends_with("s   metadata.labels.tier: front → back"), "{row}");
}

#[tokio::test]
async fn exits_silently_when_the_reader_is_gone() {
    let cluster = Cluster::start().await;
    cluster.put(config_map("default", "colours", "red"));
    let mut program = Program::start(&cluster, &["watch", "cm"]);
    program.until("colours").await;
    // The program ends although there is nothing to write.
    program.close_output();
    let ended = program.end().await;
    assert_eq!((ended.code, ended.notes.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn a_reader_of_the_first_line_causes_no_error() {
    let cluster = Cluster::start().await;
    for number in 0..3_000 {
        cluster.put(config_map("default", &format!("map-{number}"), "x"));
    }
    let mut program = Program::start(&cluster, &["watch", "cm", "-o", "json"]);
    program.line().await;
    program.close_output();
    let ended = program.end().await;
    assert_eq!((ended.code, ended.notes.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn pods_are_requested_as_protobuf_unless_printed_completely() {
    let cluster = Cluster::start().await;
    cluster.put(pod("web-1", "north", "web:1"));
    for (output, protobuf) in [("table", true), ("wide", true), ("json", false)] {
        cluster.server.forget_requests();
        let mut program = Program::start(&cluster, &["watch", "pods", "-o", output]);
        program.until("web-1").await;
        let asked = cluster
            .server
            .wait_for_request(|request| request.resource == "pods");
        assert_eq!(asked.await.accept.contains("protobuf"), protobuf, "{output}");
    }
}
