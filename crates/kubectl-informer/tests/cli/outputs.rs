//! The output formats of `watch`.

use serde_json::Value;

use super::cluster::{Cluster, config_map, pod};
use super::program::Program;

#[tokio::test]
async fn wide_tables_have_more_columns_and_all_fields() {
    let cluster = Cluster::start().await;
    cluster.put(pod("web-1", "north", "web:1"));
    let mut program = Program::start(&cluster, &["watch", "pods", "-o", "wide"]);
    let heading = program.line().await;
    assert!(
        heading.contains("NODE") && heading.contains("READINESS GATES"),
        "{heading}"
    );
    assert!(program.line().await.contains(" north "));

    let mut map = config_map("default", "many", "x");
    for field in 0..9 {
        map["data"][format!("field-{field}")] = "old".into();
    }
    for (output, last) in [
        ("table", "; and 3 more (-o wide shows all)"),
        ("wide", "; data.field-8: old → new"),
    ] {
        cluster.put(map.clone());
        let mut program = Program::start(&cluster, &["watch", "cm", "-o", output]);
        program.until("  many").await;
        let mut changed = map.clone();
        for field in 0..9 {
            changed["data"][format!("field-{field}")] = "new".into();
        }
        cluster.put(changed);
        let row = program.line().await;
        assert!(
            row.contains("   data.field-0: old → new; data.field-1: old → new"),
            "{row}"
        );
        assert!(row.ends_with(last), "{row}");
    }
}

#[tokio::test]
async fn json_prints_one_change_per_line() {
    let cluster = Cluster::start().await;
    cluster.put(config_map("default", "colours", "red"));
    let mut program = Program::start(&cluster, &["watch", "cm", "-o", "json"]);
    let mut next = async || -> Value { serde_json::from_str(&program.line().await).expect("JSON") };
    let added = next().await;
    assert_eq!(added["type"], "ADDED");
    assert_eq!(added["object"]["kind"], "ConfigMap");
    assert_eq!(added["object"]["apiVersion"], "v1");
    assert_eq!(added["object"]["data"]["key"], "red");
    cluster.put(config_map("default", "colours", "blue"));
    let modified = next().await;
    assert_eq!(
        (&modified["type"], &modified["object"]["data"]["key"]),
        (&"MODIFIED".into(), &"blue".into())
    );
    cluster.server.delete("configmaps", Some("default"), "colours");
    assert_eq!(next().await["type"], "DELETED");
}

#[tokio::test]
async fn yaml_prints_one_change_per_document() {
    let cluster = Cluster::start().await;
    cluster.put(config_map("default", "colours", "red"));
    let mut program = Program::start(&cluster, &["watch", "cm", "-o", "yaml"]);
    assert_eq!(program.line().await, "type: ADDED");
    assert_eq!(program.line().await, "object:");
    assert_eq!(program.until("kind:").await, "  kind: ConfigMap");
    cluster.put(config_map("default", "colours", "blue"));
    assert_eq!(program.until("---").await, "---");
    assert_eq!(program.line().await, "type: MODIFIED");
    assert_eq!(program.until("key:").await, "    key: blue");
}

#[tokio::test]
async fn names_look_like_kubectls() {
    let cluster = Cluster::start().await;
    cluster.put(config_map("default", "colours", "red"));
    let mut program = Program::start(&cluster, &["watch", "cm", "-o", "name"]);
    assert_eq!(program.line().await, "configmap/colours");
    cluster.put(config_map("default", "sizes", "large"));
    assert_eq!(program.line().await, "+ configmap/sizes");
    cluster.put(config_map("default", "colours", "blue"));
    assert_eq!(program.line().await, "~ configmap/colours");
    cluster.server.delete("configmaps", Some("default"), "sizes");
    assert_eq!(program.line().await, "- configmap/sizes");
}

#[tokio::test]
async fn colours_can_be_enabled() {
    let cluster = Cluster::start().await;
    cluster.put(config_map("default", "colours", "red"));
    for (when, coloured) in [("always", true), ("auto", false), ("never", false)] {
        let mut program = Program::start(&cluster, &["watch", "cm", "--color", when]);
        assert_eq!(program.line().await.contains("\x1b["), coloured, "{when}");
    }
}
