//! `cargo xtask ci`: everything that has to pass, one step after the other, stopping at the first that fails.

use std::path::Path;
use std::time::{Duration, SystemTime};

use clap::Args;

use crate::{
    Outcome, api, bench, browser, deny, features, go, mutants, package, pins, process, real_server, semver,
    soak, tables, test, test_table, toolchain,
};

/// The steps in the order in which a mistake is cheapest to find.
const STEPS: &[Step] = &[
    Step {
        name: "format",
        action: Action::Cargo(&["fmt", "--all", "--check"], &[]),
    },
    Step {
        name: "clippy",
        action: Action::Cargo(
            &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
            &[],
        ),
    },
    // Each feature of each published crate alone, and none: the workspace has them all.
    Step {
        name: "features",
        action: Action::Chore(features::step),
    },
    Step {
        name: "doc",
        action: Action::Cargo(
            &["doc", "--workspace", "--no-deps"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        ),
    },
    Step {
        name: "api",
        action: Action::Chore(api::step),
    },
    Step {
        name: "go",
        action: Action::Chore(go_is_tidy),
    },
    Step {
        name: "tables",
        action: Action::Chore(tables_are_current),
    },
    Step {
        name: "kubernetes-versions",
        action: Action::Chore(other_versions),
    },
    Step {
        name: "deny",
        action: Action::Chore(deny::offline_checks),
    },
    Step {
        name: "advisories",
        action: Action::Chore(deny::advisories),
    },
    Step {
        name: "package",
        action: Action::Chore(package::step),
    },
    Step {
        name: "semver",
        action: Action::Chore(semver::step),
    },
    Step {
        name: "test",
        action: Action::Chore(all_tests),
    },
    Step {
        name: "test-table",
        action: Action::Chore(test_table::step),
    },
    // After `test`, which leaves out what needs a browser: this step installs one.
    Step {
        name: "browser",
        action: Action::Chore(browser::tests),
    },
    // Caches that keep bytes, with both formats; what `test` runs keeps objects that came as protobuf.
    Step {
        name: "test-packed",
        action: Action::Cargo(INFORMER_TESTS, &[("KUBE_INFORMER_TEST_FORM", "packed")]),
    },
    Step {
        name: "test-packed-json",
        action: Action::Cargo(
            INFORMER_TESTS,
            &[
                ("KUBE_INFORMER_TEST_FORM", "packed"),
                ("KUBE_INFORMER_TEST_WIRE", "json"),
            ],
        ),
    },
    Step {
        name: "example-server",
        action: Action::Cargo(
            &[
                "run",
                "--quiet",
                "--package",
                "kube-embedded",
                "--example",
                "first",
            ],
            &[],
        ),
    },
    Step {
        name: "example-informer",
        action: Action::Cargo(
            &[
                "run",
                "--quiet",
                "--package",
                "kube-informer",
                "--example",
                "first",
            ],
            &[],
        ),
    },
    Step {
        name: "demo",
        action: Action::Cargo(&["run", "--quiet", "--", "demo", "--seconds", "3"], &[]),
    },
    Step {
        name: "sim",
        action: Action::Cargo(&["run", "--release", "--quiet", "--package", "sim"], &[]),
    },
    // A few planted bugs, and mutants in functions that changed lately: tests have to find them.
    Step {
        name: "mutants",
        action: Action::Chore(mutants::step),
    },
    Step {
        name: "soak",
        action: Action::Chore(soak::short),
    },
    // Less of it and on the embedded server: whether it is still as much faster and smaller than its peers as it was.
    Step {
        name: "bench",
        action: Action::Chore(bench::step),
    },
    Step {
        name: "real-server",
        action: Action::Chore(real_server_suites),
    },
];

/// The integration tests of informers, and with them those of the API server (module `api_server`).
const INFORMER_TESTS: &[&str] = &[
    "test",
    "--package",
    "conformance",
    "--test",
    "conformance",
    "--test",
    "embedded",
];

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Run only this step; may be repeated
    #[arg(long, value_name = "STEP", value_parser = step_names())]
    only: Vec<String>,
}

struct Step {
    name: &'static str,
    action: Action,
}

enum Action {
    /// Arguments and variables for cargo.
    Cargo(&'static [&'static str], &'static [(&'static str, &'static str)]),
    Chore(fn(&Path) -> Outcome<Verdict>),
}

/// What became of a step that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    /// The machine lacks what the step needs, which is said rather than passed over.
    NotRun(&'static str),
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    let mut rows = Vec::new();
    let mut failure = None;
    let chosen = |step: &&Step| options.only.is_empty() || options.only.iter().any(|name| name == step.name);
    for step in STEPS.iter().filter(chosen) {
        eprintln!("==> {}", step.name);
        let started = SystemTime::now();
        let outcome = perform(step, root);
        let took = started.elapsed().unwrap_or_default();
        let word = match &outcome {
            Ok(Verdict::Passed) => "passed".to_owned(),
            Ok(Verdict::NotRun(why)) => format!("not run: {why}"),
            Err(error) => format!("FAILED: {error}"),
        };
        eprintln!("<== {}: {word} ({})", step.name, seconds(took));
        rows.push((step.name, took, word));
        if outcome.is_err() {
            failure = Some(step.name);
            break;
        }
    }
    print!("{}", summary(&rows));
    match failure {
        Some(name) => {
            Err(format!("ci stopped at `{name}`; `cargo xtask ci --only {name}` runs it alone").into())
        }
        None => Ok(()),
    }
}

fn perform(step: &Step, root: &Path) -> Outcome<Verdict> {
    match step.action {
        Action::Chore(chore) => chore(root),
        Action::Cargo(args, variables) => {
            process::run(process::cargo(root).args(args).envs(variables.iter().copied()))?;
            Ok(Verdict::Passed)
        }
    }
}

fn go_is_tidy(root: &Path) -> Outcome<Verdict> {
    if !go::is_there() {
        return Ok(Verdict::NotRun("Go is not installed"));
    }
    go::check(&root.join("tests/client_go/go"))?;
    go::check(&root.join("benches/client-go"))?;
    Ok(Verdict::Passed)
}

fn tables_are_current(root: &Path) -> Outcome<Verdict> {
    if !go::is_there() {
        tables::run_without_go(root, true)?;
        return Ok(Verdict::NotRun("Go is not installed"));
    }
    tables::run(root, pins::KUBERNETES, true)?;
    Ok(Verdict::Passed)
}

/// The library with the types of the oldest and the newest Kubernetes that k8s-openapi has; all else here uses those of
/// the version that the tests run on. Each has a folder of its own, because all dependents are built anew with them.
fn other_versions(root: &Path) -> Outcome<Verdict> {
    let target = toolchain::target(root);
    for version in pins::OTHER_KUBERNETES {
        let mut check = process::cargo(root);
        check
            .args(["check", "--package", "kube-informer"])
            .env("K8S_OPENAPI_ENABLED_VERSION", version)
            .env("CARGO_TARGET_DIR", target.join(format!("kubernetes-{version}")));
        process::run(&mut check)?;
    }
    Ok(Verdict::Passed)
}

/// With a kubectl, which is built with the real server that the next step needs anyway.
fn all_tests(root: &Path) -> Outcome<Verdict> {
    let missing = test::against_embedded_server(root, Some(real_server::prepare()?))?;
    if missing.is_empty() {
        Ok(Verdict::Passed)
    } else {
        Ok(Verdict::NotRun("Go is not installed"))
    }
}

fn real_server_suites(root: &Path) -> Outcome<Verdict> {
    test::against_real_server(root, &[])?;
    Ok(Verdict::Passed)
}

fn summary(rows: &[(&str, Duration, String)]) -> String {
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or_default();
    let line = |(name, took, word): &(&str, Duration, String)| {
        let word = word.lines().next().unwrap_or_default();
        format!("{name:width$}  {:>8}  {word}\n", seconds(*took))
    };
    rows.iter().map(line).collect()
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

fn step_names() -> clap::builder::PossibleValuesParser {
    STEPS.iter().map(|step| step.name).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_a_table() {
        let rows = [
            ("fmt", Duration::from_millis(340), "passed".to_owned()),
            (
                "real-server",
                Duration::from_secs(101),
                "FAILED: one\ntwo".to_owned(),
            ),
        ];
        assert_eq!(
            summary(&rows),
            "fmt             0.3 s  passed\nreal-server   101.0 s  FAILED: one\n"
        );
    }
}
