//! Completions and help.

use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::program::run_alone;

#[tokio::test]
async fn generates_a_script_for_every_shell() {
    for (shell, begins) in [
        ("bash", "_kubectl"),
        ("zsh", "#compdef kubectl-informer"),
        ("fish", ""),
    ] {
        let ended = run_alone(&["completions", shell]).await;
        assert_eq!((ended.code, ended.notes.as_str()), (Some(0), ""));
        assert!(ended.output.starts_with(begins), "{shell}");
        for word in [
            "watch",
            "changes-only",
            "field-selector",
            "insecure-skip-tls-verify",
        ] {
            assert!(ended.output.contains(word), "{shell}: {word}");
        }
        assert!(!ended.output.contains("__complete"), "{shell}");
    }
}

#[tokio::test]
async fn bash_accepts_its_script() {
    let script = run_alone(&["completions", "bash"]).await.output;
    let asked = "
        function=$(complete -p kubectl-informer | sed 's/.* -F \\([^ ]*\\) .*/\\1/')
        COMP_WORDS=(kubectl-informer wat) COMP_CWORD=1
        $function kubectl-informer wat kubectl-informer
        echo \"${COMPREPLY[@]}\"
    ";
    let mut bash = Command::new("bash")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("bash");
    let mut input = bash.stdin.take().expect("its input");
    input
        .write_all((script + asked).as_bytes())
        .await
        .expect("it reads");
    drop(input);
    let output = bash.wait_with_output().await.expect("its end");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "watch\n");
}

#[tokio::test]
async fn completes_in_the_format_of_kubectl() {
    let script = run_alone(&["completions", "kubectl"]).await.output;
    assert!(script.starts_with("#!/bin/sh\n") && script.contains("exec kubectl-informer __complete \"$@\""));
    for (words, offers) in [
        (&["wa"][..], &["watch\t"][..]),
        (&["watch", "dep"], &["deployments"]),
        (&["watch", "pods,dep"], &["pods,deployments"]),
        (&["watch", "pods", "conf"], &["configmaps"]),
        (&["get", "se"], &["secrets", "services"]),
        (&["watch", "--field"], &["--field-selector\t"]),
        (&["watch", "pods", "--output", "y"], &["yaml\t"]),
        (&["completions", "z"], &["zsh"]),
        (&["watch", "--namespace", ""], &[]),
    ] {
        let ended = run_alone(&[&["__complete"], words].concat()).await;
        let mut lines: Vec<_> = ended.output.lines().collect();
        assert_eq!(lines.pop(), Some(":4"), "{words:?}");
        assert_eq!(lines.len(), offers.len(), "{words:?}: {lines:?}");
        for (line, offer) in lines.iter().zip(offers) {
            assert!(line.starts_with(offer), "{words:?}: {line}");
        }
    }
}

#[cfg(feature = "demo")]
#[tokio::test]
async fn help_contains_examples() {
    let ended = run_alone(&["--help"]).await;
    for command in ["demo", "watch", "get", "completions"] {
        assert!(
            ended.output.contains(&format!("  {command} ")),
            "{}",
            ended.output
        );
    }
    assert!(!ended.output.contains("__complete"));
    for command in ["watch", "get", "completions"] {
        let ended = run_alone(&[command, "--help"]).await;
        assert_eq!(ended.code, Some(0));
        let examples = ended.output.split_once("Examples:").expect("examples").1;
        assert!(
            examples.matches(&format!("kubectl-informer {command} ")).count() >= 3,
            "{command}"
        );
    }
}
