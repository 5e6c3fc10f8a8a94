//! `get --prompt`: queries from a pipe, one per line.

use super::cluster::{Cluster, pod};
use super::program::Program;

async fn prompt(more: &[&str]) -> (Cluster, Program) {
    let cluster = Cluster::start().await;
    cluster.put(pod("web-1", "north", "web:1"));
    cluster.put(pod("web-2", "south", "web:2"));
    let program = Program::start(
        &cluster,
        &[&["get", "pods", "--index", "node=.spec.nodeName"], more].concat(),
    );
    (cluster, program)
}

#[tokio::test]
async fn runs_several_queries() {
    let (_cluster, mut program) = prompt(&["--prompt", "-o", "name"]).await;
    for (line, answers) in [
        ("node=north", &["pod/web-1"][..]),
        ("all", &["pod/web-1", "pod/web-2"]),
        ("-l tier=front node=south", &["pod/web-2"]),
        ("-l tier=back", &["No resources found."]),
        ("web-2", &["pod/web-2"]),
        ("default/web-1", &["pod/web-1"]),
        ("count all", &["2"]),
        ("count node=north", &["1"]),
        ("indexes", &["node   2 values"]),
        ("values node", &["north   1", "south   1"]),
        ("index image=.spec.containers[*].image", &[]),
        ("image=web:2", &["pod/web-2"]),
        ("", &[]),
    ] {
        program.type_line(line).await;
        for answer in answers {
            assert_eq!(program.line().await, *answer, "{line}");
        }
    }
    program.type_line("web-1 -o wide").await;
    assert!(program.line().await.contains("NODE"));
    assert!(program.line().await.contains(" north "));
    program.type_line("help").await;
    assert!(program.line().await.starts_with("node=north "));
    program.until("help, exit").await;
    program.type_line("exit").await;
    let ended = program.end().await;
    assert_eq!(
        (ended.code, ended.output.as_str(), ended.notes.as_str()),
        (Some(0), "", "")
    );
}

#[tokio::test]
async fn the_cache_is_updated_between_queries() {
    let (cluster, mut program) = prompt(&["-i"]).await;
    program.type_line("count all").await;
    assert_eq!(program.line().await, "2");
    cluster.put(pod("web-3", "north", "web:1"));
    // Poll, because a person would repeat the query, too.
    loop {
        program.type_line("count node=north").await;
        if program.line().await == "2" {
            break;
        }
    }
    let ended = program.end().await;
    assert_eq!(ended.code, Some(0), "the end of the input ends it: {ended:?}");
}

#[tokio::test]
async fn an_invalid_query_does_not_end_the_prompt() {
    let (_cluster, mut program) = prompt(&["-i", "-o", "name"]).await;
    for (line, words) in [
        ("colour=red", "unknown index \"colour\": expected one of node"),
        ("values colour", "unknown index \"colour\""),
        ("index node=.x", "duplicate index \"node\""),
        ("index node", "expected NAME=PATH"),
        ("-l a=b=c", "expected for example app=web"),
    ] {
        program.type_line(line).await;
        let note = program.note().await;
        assert!(note.contains(words), "{line}: {note}");
    }
    program.type_line("node=south").await;
    assert_eq!(program.line().await, "pod/web-2");
}
