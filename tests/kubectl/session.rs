//! Sessions: commands and what was said, as one would see it in a terminal.
//!
//! A line that begins with `$ ` is a command, what follows up to the next one is what it says: its output, then its
//! errors, then its exit code if that is not 0. Lines that begin with `# ` say what a part is about. `{ns}` stands for the
//! namespace of the test; what else differs from run to run is in pointed brackets.

use std::fs;
use std::path::PathBuf;

use conformance::Kind;

use crate::program::{Kubectl, Said};
use crate::tidy::tidy;

const COMMAND: &str = "$ kubectl ";
/// The kubectl whose words are written down.
const RECORDED_WITH: &str = "v1.36.";

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/kubectl/sessions"))
}

/// Says the commands of a session again and compares what comes back, or writes it down where that is asked for.
pub(crate) async fn replay(kubectl: &Kubectl, name: &str) {
    let file = folder().join(name).with_extension("txt");
    let written = fs::read_to_string(&file).expect("a session");
    let mut said = Vec::new();
    for line in written.lines() {
        if let Some(command) = line.strip_prefix(COMMAND) {
            said.push(line.to_owned());
            said.extend(answer(kubectl, command).await);
        } else if line.starts_with("# ") {
            said.push(line.to_owned());
        }
    }
    let said = said.join("\n") + "\n";
    if std::env::var_os("KUBE_INFORMER_RECORD").is_some() {
        assert_eq!(
            kubectl.server.kind,
            Kind::Real,
            "only what a real server says is written down"
        );
        fs::write(file, said).expect("written down");
    } else if said != written {
        let same_words = kubectl.version().await.starts_with(RECORDED_WITH);
        assert!(
            !same_words,
            "{name} is not what a real server says:\n{}",
            difference(&written, &said)
        );
        // Another kubectl has other words; what succeeds and what fails is the server's affair.
        assert_eq!(outcomes(&said), outcomes(&written), "{name}");
    }
}

/// What a command says, in parts.
async fn answer(kubectl: &Kubectl, command: &str) -> Vec<String> {
    let Said { out, err, code } = kubectl.run(command).await;
    let tidied = [out, err].map(|part| tidy(&part, &kubectl.server.namespace, kubectl.folder()));
    let mut parts: Vec<String> = tidied.into_iter().filter(|part| !part.is_empty()).collect();
    if code != 0 {
        parts.push(format!("[exit {code}]"));
    }
    parts
}

/// Both texts side by side, command by command, where they differ.
fn difference(wanted: &str, found: &str) -> String {
    let pairs = wanted.split("\n$ ").zip(found.split("\n$ "));
    let different = pairs.filter(|(wanted, found)| wanted != found);
    let shown = different.map(|(wanted, found)| format!("--- wanted\n$ {wanted}\n--- found\n$ {found}"));
    shown.collect::<Vec<_>>().join("\n")
}

/// The commands of a session, each with its exit code if that is not 0.
fn outcomes(session: &str) -> Vec<&str> {
    let counts = |line: &&str| line.starts_with(COMMAND) || line.starts_with("[exit ");
    session.lines().filter(counts).collect()
}

/// Fails when a session lies there that no test replays.
pub(crate) fn assert_all(replayed: &[&str]) {
    for file in fs::read_dir(folder()).expect("sessions") {
        let path = file.expect("a session").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        assert!(replayed.contains(&name), "nobody replays {name}");
    }
}
