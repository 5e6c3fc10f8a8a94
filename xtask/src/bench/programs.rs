//! The programs that measure: one in Rust for two of the subjects, one in Go for the third.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Scenario;
use crate::{Outcome, cache, go, process};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    KubeInformer,
    ClientGo,
    KubeRuntime,
}

impl Subject {
    pub(super) const ALL: [Subject; 3] = [Subject::KubeInformer, Subject::ClientGo, Subject::KubeRuntime];

    fn name(self) -> &'static str {
        match self {
            Subject::KubeInformer => "kube-informer",
            Subject::ClientGo => "client-go",
            Subject::KubeRuntime => "kube-runtime",
        }
    }
}

/// Where they are.
pub(super) struct Programs {
    pipeline: PathBuf,
    memory: PathBuf,
    /// None where there is no Go to build it.
    client_go: Option<PathBuf>,
}

impl Programs {
    pub(super) fn build(root: &Path) -> Outcome<Programs> {
        let built = process::read(
            process::cargo(root)
                .args(["build", "--release", "--package", "bench"])
                .arg("--message-format=json-render-diagnostics")
                .stderr(Stdio::inherit()),
        )?;
        let executable = |name: &str| {
            let messages = built
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut executables = messages.filter(|message| message["target"]["name"] == name);
            let found = executables.find_map(|message| message["executable"].as_str().map(PathBuf::from));
            found.ok_or_else(|| format!("cargo built no program {name}"))
        };
        Ok(Programs {
            pipeline: executable("pipeline")?,
            memory: executable("memory")?,
            client_go: build_client_go(&root.join("benches/client-go"))?,
        })
    }

    /// Runs a scenario; the figures are lines of JSON.
    pub(super) fn run(
        &self,
        subject: Subject,
        scenario: Scenario,
        handlers: u32,
        quick: bool,
    ) -> Outcome<String> {
        let mut command = match (subject, scenario) {
            (Subject::ClientGo, _) => match &self.client_go {
                Some(program) => Command::new(program),
                None => return Ok(String::new()),
            },
            (_, Scenario::Memory) => Command::new(&self.memory),
            _ => Command::new(&self.pipeline),
        };
        // Go's flags come before other words; clap does not mind.
        command.arg(format!("--handlers={handlers}"));
        if quick {
            command.arg("--quick");
        }
        if subject != Subject::ClientGo {
            command.arg(subject.name());
        }
        if subject == Subject::ClientGo || scenario != Scenario::Memory {
            command.arg(format!("{scenario:?}").to_lowercase());
        }
        process::read(&mut command)
    }
}

fn build_client_go(source: &Path) -> Outcome<Option<PathBuf>> {
    if !go::is_there() {
        eprintln!("client-go is left out: there is no Go to build it with");
        return Ok(None);
    }
    let folder = cache::folder()?.join("bench");
    let _lock = cache::take(&folder)?;
    let program = folder.join("client-go");
    process::run(go::command(source).args(["build", "-o"]).arg(&program).arg("."))?;
    Ok(Some(program))
}
