//! `cargo xtask ci`: runs all steps of CI in order, and stops at the first failure.

use std::path::Path;
use std::time::{Duration, SystemTime};

use clap::Args;

use crate::{
    Outcome, api, bench, browser, deny, e2e, features, go, mutants, package, pins, process, real_server,
    semver, soak, tables, test, test_table, toolchain,
};

/// The steps, those that find mistakes fastest first.
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
    // Each feature of each published crate alone, and none: a build of the workspace enables all features.
    Step {
        name: "features",
        action: Action::Function(features::step),
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
        action: Action::Function(api::step),
    },
    Step {
        name: "go",
        action: Action::Function(go_is_tidy),
    },
    Step {
        name: "tables",
        action: Action::Function(tables_are_current),
    },
    Step {
        name: "kubernetes-versions",
        action: Action::Function(other_versions),
    },
    Step {
        name: "deny",
        action: Action::Function(deny::offline_checks),
    },
    Step {
        name: "advisories",
        action: Action::Function(deny::advisories),
    },
    Step {
        name: "package",
        action: Action::Function(package::step),
    },
    Step {
        name: "semver",
        action: Action::Function(semver::step),
    },
    Step {
        name: "test",
        action: Action::Function(all_tests),
    },
    // The features that users get by default; a build of the workspace enables all of them.
    Step {
        name: "test-default",
        action: Action::Cargo(&["test", "--package", "kube-informer"], &[]),
    },
    Step {
        name: "test-table",
        action: Action::Function(test_table::step),
    },
    // After `test`, which skips the tests in a browser: this step installs one.
    Step {
        name: "browser",
        action: Action::Function(browser::tests),
    },
    // Packed caches with both formats; `test` uses decoded objects from protobuf.
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
    // A few planted bugs, and mutants in recently changed functions: the tests must find them.
    Step {
        name: "mutants",
        action: Action::Function(mutants::step),
    },
    Step {
        name: "soak",
        action: Action::Function(soak::short),
    },
    // A short benchmark on the embedded server: the ratios to the peers must not get worse.
    Step {
        name: "bench",
        action: Action::Function(bench::step),
    },
    // Kubernetes' own specs on the embedded server, without the slow ones. Go builds them the first time.
    Step {
        name: "e2e",
        action: Action::Function(e2e::step),
    },
    Step {
        name: "real-server",
        action: Action::Function(real_server_suites),
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
pub(crate) struct CiOptions {
    /// Only run this step; may be repeated
    #[arg(long, value_name = "STEP", value_parser = step_names())]
    only: Vec<String>,
}

struct Step {
    name: &'static str,
    action: Action,
}

enum Action {
    /// Arguments and environment variables for cargo.
    Cargo(&'static [&'static str], &'static [(&'static str, &'static str)]),
    Function(fn(&Path) -> Outcome<StepResult>),
}

/// The result of a step that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepResult {
    Passed,
    /// The machine lacks something that the step needs. The step is reported as not run.
    NotRun(&'static str),
}

pub(crate) fn run(root: &Path, options: &CiOptions) -> Outcome {
    let mut rows = Vec::new();
    let mut failure = None;
    let chosen = |step: &&Step| options.only.is_empty() || options.only.iter().any(|name| name == step.name);
    for step in STEPS.iter().filter(chosen) {
        eprintln!("==> {}", step.name);
        let started = SystemTime::now();
        let outcome = perform(step, root);
        let took = started.elapsed().unwrap_or_default();
        let word = match &outcome {
            Ok(StepResult::Passed) => "passed".to_owned(),
            Ok(StepResult::NotRun(why)) => format!("not run: {why}"),
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

fn perform(step: &Step, root: &Path) -> Outcome<StepResult> {
    match step.action {
        Action::Function(chore) => chore(root),
        Action::Cargo(args, variables) => {
            process::run(process::cargo(root).args(args).envs(variables.iter().copied()))?;
            Ok(StepResult::Passed)
        }
    }
}

fn go_is_tidy(root: &Path) -> Outcome<StepResult> {
    if !go::is_installed() {
        return Ok(StepResult::NotRun("Go is not installed"));
    }
    go::check(&root.join("tests/client_go/go"))?;
    go::check(&root.join("benches/client_go"))?;
    Ok(StepResult::Passed)
}

fn tables_are_current(root: &Path) -> Outcome<StepResult> {
    if !go::is_installed() {
        tables::run_without_go(root, true)?;
        return Ok(StepResult::NotRun("Go is not installed"));
    }
    tables::run(root, pins::KUBERNETES, true)?;
    Ok(StepResult::Passed)
}

/// Checks the library with the oldest and the newest Kubernetes types of k8s-openapi. Other steps use the
/// pinned version. Each version has its own target folder, because all dependents are rebuilt.
fn other_versions(root: &Path) -> Outcome<StepResult> {
    let target = toolchain::target(root);
    for version in pins::OTHER_KUBERNETES {
        let mut check = process::cargo(root);
        check
            .args(["check", "--package", "kube-informer"])
            .env("K8S_OPENAPI_ENABLED_VERSION", version)
            .env("CARGO_TARGET_DIR", target.join(format!("kubernetes-{version}")));
        process::run(&mut check)?;
    }
    Ok(StepResult::Passed)
}

/// Runs all tests with a kubectl, which is built with the real server that the next step needs anyway.
fn all_tests(root: &Path) -> Outcome<StepResult> {
    let missing = test::against_embedded_server(root, Some(real_server::prepare()?))?;
    if missing.is_empty() {
        Ok(StepResult::Passed)
    } else {
        Ok(StepResult::NotRun("Go is not installed"))
    }
}

fn real_server_suites(root: &Path) -> Outcome<StepResult> {
    test::against_real_server(root, &[])?;
    Ok(StepResult::Passed)
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
