//! The kubeconfig that the demo writes, and existing files that it keeps.

use super::cluster::Cluster;
use super::program::{Program, run_alone};

const CONFIG: &str = "apiVersion: v1\nkind: Config\ncurrent-context: production\n";

#[tokio::test]
async fn the_demo_rejects_the_kubeconfig_flag() {
    let cluster = Cluster::start().await;
    let file = cluster.file("mine");
    std::fs::write(&file, CONFIG).expect("a file");
    let path = file.to_str().expect("a path");
    let ended = run_alone(&["demo", "--seconds", "0", "--kubeconfig", path]).await;
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), CONFIG);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.notes.contains("use --write-kubeconfig FILE"), "{ended:?}");
}

#[tokio::test]
async fn the_demo_does_not_overwrite_a_file_of_the_user() {
    let cluster = Cluster::start().await;
    let file = cluster.file("mine");
    std::fs::write(&file, CONFIG).expect("a file");
    let path = file.to_str().expect("a path");
    let ended = run_alone(&["demo", "--seconds", "0", "--write-kubeconfig", path]).await;
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), CONFIG);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(
        ended.notes,
        format!(
            "kubectl-informer: cannot write the kubeconfig to {path:?}: \
             the file exists and was not written by this program\n\
             hint: choose a path that does not exist\n"
        )
    );
}

#[tokio::test]
async fn the_demo_keeps_a_kubeconfig_that_was_changed_while_it_ran() {
    let cluster = Cluster::start().await;
    let file = cluster.file("written");
    let path = file.to_str().expect("a path");
    let mut program = Program::start(&cluster, &["demo", "--write-kubeconfig", path]);
    program.until("join in:").await;
    std::fs::write(&file, CONFIG).expect("a file");
    let ended = program.interrupt().await;
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), CONFIG);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.notes.contains("cannot delete the kubeconfig") && ended.notes.contains("was changed"),
        "{ended:?}"
    );
}
