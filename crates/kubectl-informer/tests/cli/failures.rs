//! Messages of failed commands.

use kube_embedded::{Fault, On};

use super::cluster::{Cluster, pod};
use super::program::{Program, command, run, run_alone};

#[tokio::test]
async fn an_unknown_resource_is_reported_with_suggestions() {
    let cluster = Cluster::start().await;
    for words in [["watch", "deploymnts"], ["get", "deploymnts"]] {
        let ended = run(&cluster, &words).await;
        assert_eq!(ended.code, Some(1));
        assert!(
            ended
                .notes
                .contains("unknown resource \"deploymnts\"\nhint: did you mean deployments"),
            "{ended:?}"
        );
        assert!(ended.notes.contains("kubectl api-resources"), "{ended:?}");
    }
    let ended = run(&cluster, &["watch", "tokenreviews"]).await;
    assert!(ended.notes.contains("cannot watch tokenreviews"), "{ended:?}");
}

#[cfg(feature = "demo")]
#[tokio::test]
async fn without_a_cluster_the_hint_is_the_demo() {
    for words in [
        &["watch", "pods"][..],
        &["get", "pods"],
        &["watch", "pods", "--kubeconfig", "/nonexistent/config"],
    ] {
        let ended = run_alone(words).await;
        assert_eq!(ended.code, Some(1));
        assert!(ended.notes.contains("no cluster is configured"), "{ended:?}");
        assert!(ended.notes.contains("/nonexistent/"), "{ended:?}");
        assert!(ended.notes.contains("`kubectl-informer demo`"), "{ended:?}");
    }
}

/// Errors of kube quote the lines around the syntax error.
#[tokio::test]
async fn a_message_about_an_invalid_kubeconfig_has_no_secrets() {
    let cluster = Cluster::start().await;
    let path = cluster
        .file("broken")
        .into_os_string()
        .into_string()
        .expect("text");
    for broken in [
        "token: [planted",
        "token: {planted: planted}",
        "token: planted\n  - :",
        "password: planted\n   oops",
    ] {
        let text = format!("apiVersion: v1\nkind: Config\nusers:\n- name: me\n  user:\n    {broken}\n");
        std::fs::write(&path, text).expect("a file");
        for words in [&["--kubeconfig", &path][..], &[], &["--context", "other"]] {
            let ended = command(&[&["get", "pods"], words].concat())
                .env("KUBECONFIG", &path)
                .output()
                .await;
            let ended = ended.expect("the program starts");
            let notes = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(1), "{notes}");
            assert!(notes.contains("cannot parse the kubeconfig at line "), "{notes}");
            assert!(!notes.contains("planted"), "{notes}");
        }
    }
}

#[cfg(feature = "demo")]
#[tokio::test]
async fn an_unreachable_server_is_named() {
    let cluster = Cluster::start().await;
    let url = cluster.server.url();
    cluster.server.go_down().await;
    let ended = run(&cluster, &["watch", "pods"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.notes.contains(&format!("cannot connect to {url}")),
        "{ended:?}"
    );
    assert!(
        ended.notes.contains("refused") && ended.notes.contains("`kubectl-informer demo`"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn an_unresponsive_server_times_out() {
    let cluster = Cluster::start().await;
    cluster
        .server
        .faults()
        .add(On::any(), Fault::Delay(std::time::Duration::from_secs(60 * 60)));
    let ended = run(&cluster, &["watch", "pods", "--request-timeout", "200ms"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.notes.contains("the server did not respond within 200ms"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn a_forbidden_request_reports_the_missing_verbs() {
    let cluster = Cluster::start().await;
    cluster
        .server
        .faults()
        .add(On::list_or_watch("secrets"), Fault::forbidden());
    for words in [["watch", "secrets"], ["get", "secrets"]] {
        let ended = run(&cluster, &words).await;
        assert_eq!(ended.code, Some(1));
        assert!(ended.notes.contains("403 Forbidden"), "{ended:?}");
        assert!(
            ended.notes.contains("grant list and watch on secrets"),
            "{ended:?}"
        );
    }
}

#[tokio::test]
async fn an_invalid_selector_is_a_usage_error() {
    let cluster = Cluster::start().await;
    let ended = run(&cluster, &["watch", "pods", "-l", "app in"]).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.notes.contains("expected for example app=web"), "{ended:?}");

    let ended = run(
        &cluster,
        &["watch", "pods", "--field-selector", "spec.colour=red"],
    )
    .await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.notes.contains("spec.colour"), "{ended:?}");
}

#[tokio::test]
async fn unknown_contexts_clusters_and_users_are_reported_with_the_known_ones() {
    let cluster = Cluster::start().await;
    for flag in ["context", "cluster", "user"] {
        let ended = run(&cluster, &["watch", "pods", &format!("--{flag}"), "production"]).await;
        assert_eq!(ended.code, Some(1));
        let expected = format!("unknown {flag} \"production\" in the kubeconfig: expected one of embedded");
        assert!(ended.notes.contains(&expected), "{ended:?}");
    }
}

#[tokio::test]
async fn several_kubeconfigs_are_merged() {
    let cluster = Cluster::start().await;
    cluster.put(pod("web-1", "north", "web:1"));
    let text = cluster.server.kubeconfig();
    let (clusters, rest) = text.split_once("users:").expect("a kubeconfig");
    std::fs::write(cluster.file("clusters"), clusters).expect("a file");
    let rest = format!("apiVersion: v1\nkind: Config\nusers:{rest}");
    std::fs::write(cluster.file("rest"), rest).expect("a file");
    let paths = std::env::join_paths([cluster.file("clusters"), cluster.file("rest")]).expect("paths");
    let ended = command(&["get", "pods", "-o", "name"])
        .env("KUBECONFIG", paths)
        .output()
        .await;
    let ended = ended.expect("the program starts");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "pod/web-1\n", "{ended:?}");
}

#[tokio::test]
async fn server_and_impersonation_flags_are_applied() {
    let cluster = Cluster::start().await;
    cluster.put(pod("web-1", "north", "web:1"));
    let url = cluster.server.http_url();
    let ended = run_alone(&["get", "pods", "-o", "name", "--server", &url]).await;
    assert_eq!(ended.output, "pod/web-1\n", "{ended:?}");

    let https = cluster.server.url();
    let ended = run_alone(&["get", "pods", "-o", "name", "-s", &https]).await;
    assert!(
        ended.notes.contains("the certificate authority is not trusted"),
        "{ended:?}"
    );
    let ended = run_alone(&[
        "get",
        "pods",
        "-o",
        "name",
        "-s",
        &https,
        "--insecure-skip-tls-verify",
    ])
    .await;
    assert_eq!(ended.output, "pod/web-1\n", "{ended:?}");

    cluster.server.forget_requests();
    let ended = run(
        &cluster,
        &["get", "pods", "--as", "jane", "--as-group", "team", "-o", "name"],
    )
    .await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[tokio::test]
async fn usage_errors_exit_with_two() {
    for words in [
        &["watch"][..],
        &["watch", "pods", "--sideways"],
        &["watch", "pods", "--resync", "soon"],
        &["watch", "pods", "-o", "picture"],
        &["get", "pods", "--index", "node"],
        &["get", "pods", "--index", "node=.spec..x"],
        &["get", "pods", "--by", "node=north"],
        &["get", "pods", "--index", "a=.b", "--index", "a=.c"],
        &["dance"],
    ] {
        let ended = run_alone(words).await;
        assert_eq!(ended.code, Some(2), "{words:?}: {ended:?}");
        assert!(!ended.notes.is_empty() && ended.output.is_empty(), "{ended:?}");
    }
}

#[tokio::test]
async fn a_request_that_is_forbidden_later_is_reported_and_retried() {
    let cluster = Cluster::start().await;
    cluster.put(pod("web-1", "north", "web:1"));
    let mut program = Program::start(&cluster, &["watch", "pods"]);
    program.until("web-1").await;
    let refused = cluster
        .server
        .faults()
        .add(On::list_or_watch("pods"), Fault::forbidden());
    cluster.server.cut_connections();
    let note = program.note().await;
    assert!(note.starts_with("lost connection: "), "{note}");
    drop(refused);
    cluster.server.faults().clear();
    assert!(program.note().await.starts_with("reconnected after"));
}
