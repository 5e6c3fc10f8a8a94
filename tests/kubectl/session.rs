//! Sessions: commands and their output, as in a terminal.
//!
//! A line that starts with `$ ` is a command. The lines up to the next one are its output, then its errors,
//! then its exit code unless it is 0. Lines that start with `# ` are comments. `{ns}` is the namespace of the
//! test; other values that vary between runs are in angle brackets.

use std::fs;
use std::path::PathBuf;

use conformance::Kind;

use crate::program::{CommandOutput, Kubectl};
use crate::tidy::tidy;

const COMMAND: &str = "$ kubectl ";
/// The version of kubectl with which sessions were recorded.
const RECORDED_WITH: &str = "v1.36.";

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/kubectl/sessions"))
}

/// Runs the commands of a session and compares the output, or records it if requested.
pub(crate) async fn replay(kubectl: &Kubectl, name: &str) {
    let file = folder().join(name).with_extension("txt");
    let written = fs::read_to_string(&file).expect("a session");
    let mut replayed_text = Vec::new();
    for line in written.lines() {
        if let Some(command) = line.strip_prefix(COMMAND) {
            replayed_text.push(line.to_owned());
            replayed_text.extend(answer(kubectl, command).await);
        } else if line.starts_with("# ") {
            replayed_text.push(line.to_owned());
        }
    }
    let replayed_text = replayed_text.join("\n") + "\n";
    if std::env::var_os("KUBE_INFORMER_RECORD").is_some() {
        assert_eq!(
            kubectl.server.kind,
            Kind::Real,
            "sessions can be recorded with a real server only"
        );
        fs::write(file, replayed_text).expect("written down");
    } else if replayed_text != written {
        let same_words = kubectl.version().await.starts_with(RECORDED_WITH);
        assert!(
            !same_words,
            "{name} differs from a real server:\n{}",
            difference(&written, &replayed_text)
        );
        // The messages vary between versions of kubectl; success and failure depend on the server.
        assert_eq!(outcomes(&replayed_text), outcomes(&written), "{name}");
    }
}

/// Returns the output of a command, in parts.
async fn answer(kubectl: &Kubectl, command: &str) -> Vec<String> {
    let CommandOutput { out, err, code } = kubectl.run(command).await;
    let tidied = [out, err].map(|part| tidy(&part, &kubectl.server.namespace, kubectl.folder()));
    let mut parts: Vec<String> = tidied.into_iter().filter(|part| !part.is_empty()).collect();
    if code != 0 {
        parts.push(format!("[exit {code}]"));
    }
    parts
}

/// Returns both texts side by side, for the commands that differ.
fn difference(wanted: &str, found: &str) -> String {
    let pairs = wanted.split("\n$ ").zip(found.split("\n$ "));
    let different = pairs.filter(|(wanted, found)| wanted != found);
    let shown = different.map(|(wanted, found)| format!("--- wanted\n$ {wanted}\n--- found\n$ {found}"));
    shown.collect::<Vec<_>>().join("\n")
}

/// Returns the commands of a session, each with its exit code unless it is 0.
fn outcomes(session: &str) -> Vec<&str> {
    let counts = |line: &&str| line.starts_with(COMMAND) || line.starts_with("[exit ");
    session.lines().filter(counts).collect()
}

/// Fails if a session is not replayed by any test.
pub(crate) fn assert_all(replayed: &[&str]) {
    for file in fs::read_dir(folder()).expect("sessions") {
        let path = file.expect("a session").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        assert!(replayed.contains(&name), "no test replays {name}");
    }
}
