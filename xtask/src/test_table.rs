//! `cargo xtask test-table`: writes the number of integration tests per server to
//! `docs/conformance/servers.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::ci::StepResult;
use crate::test::{SUITES, TestSuite};
use crate::{Outcome, process};

const FILE: &str = "docs/conformance/servers.md";

const HEAD: &str = "\
# Which tests run on which server

Written by `cargo xtask test-table`; CI fails when it is stale.

`cargo xtask test` runs the tests on the embedded server, `cargo xtask test --real` on a kube-apiserver with etcd. A test that
needs faults on demand or a paused clock is in the suite `embedded`, which does not run on the real server. A test that needs
another program is reported as ignored by a plain `cargo test`. No test returns early: what is reported as passed has run.

The unit tests of the crates, their tests on scripted servers, the simulator and the fuzz targets use no real server and are not
counted here.

| suite | module | embedded server | real server | no server | needs |
|---|---|---:|---:|---:|---|
";

/// The number of tests of a module per server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    embedded: usize,
    real: usize,
    neither: usize,
}

/// Writes the table, or compares it with the file if `check` is set.
pub(crate) fn run(root: &Path, check: bool) -> Outcome {
    let mut rows = Vec::new();
    for suite in SUITES {
        let all = list(root, suite.name, &[])?;
        let ignored = list(root, suite.name, &["--ignored"])?;
        rows.push((suite, count(suite, &all, &ignored)?));
    }
    let table = table(&rows);
    let file = root.join(FILE);
    if !check {
        return Ok(fs::write(file, table)?);
    }
    if fs::read_to_string(file)? == table {
        Ok(())
    } else {
        Err(format!("{FILE} is stale: run `cargo xtask test-table`").into())
    }
}

/// Runs this as a step of CI, after the tests have been built.
pub(crate) fn step(root: &Path) -> Outcome<StepResult> {
    run(root, true)?;
    Ok(StepResult::Passed)
}

/// Returns the names of a suite's tests.
fn list(root: &Path, suite: &str, args: &[&str]) -> Outcome<Vec<String>> {
    let mut cargo = process::cargo(root);
    cargo
        .args([
            "test",
            "--quiet",
            "--package",
            "conformance",
            "--test",
            suite,
            "--",
        ])
        .args(["--list", "--format", "terse"])
        .args(args);
    let listed = process::read(&mut cargo)?;
    let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

/// Returns the tests of a suite by module. If a suite marks tests as ignored, those use a server.
fn count(suite: &TestSuite, all: &[String], ignored: &[String]) -> Outcome<BTreeMap<String, Counts>> {
    if suite.needs.is_none() && !ignored.is_empty() {
        return Err(format!(
            "suite {}: ignored without a reason: {}",
            suite.name,
            ignored.join(", ")
        )
        .into());
    }
    let mut modules = BTreeMap::<String, Counts>::new();
    for test in all {
        let module = test.split_once("::").map_or("", |(module, _)| module);
        let counts = modules.entry(module.to_owned()).or_default();
        let uses_server = suite.needs.is_none() || ignored.contains(test);
        counts.embedded += usize::from(uses_server && suite.embedded);
        counts.real += usize::from(uses_server && suite.real);
        counts.neither += usize::from(!uses_server);
    }
    Ok(modules)
}

fn table(rows: &[(&TestSuite, BTreeMap<String, Counts>)]) -> String {
    let mut text = HEAD.to_owned();
    let mut total = Counts::default();
    for (suite, modules) in rows {
        let needs = suite.needs.map_or("", |program| program.name());
        for (module, counts) in modules {
            line(&mut text, suite.name, module, *counts, needs);
            total.embedded += counts.embedded;
            total.real += counts.real;
            total.neither += counts.neither;
        }
    }
    line(&mut text, "all", "", total, "");
    text
}

fn line(text: &mut String, suite: &str, module: &str, counts: Counts, needs: &str) {
    let cell = |count: usize| {
        if count == 0 {
            String::new()
        } else {
            count.to_string()
        }
    };
    let cells = [
        suite.to_owned(),
        module.to_owned(),
        cell(counts.embedded),
        cell(counts.real),
        cell(counts.neither),
        needs.to_owned(),
    ];
    // Writing to a string cannot fail.
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn suite(name: &str) -> &'static TestSuite {
        SUITES.iter().find(|suite| suite.name == name).unwrap()
    }

    #[test]
    fn a_suite_without_needs_runs_all_its_tests_on_its_servers() {
        let all = names(&["a::one", "a::b::two", "three"]);
        let counts = count(suite("embedded"), &all, &[]).unwrap();
        assert_eq!(counts["a"].embedded, 2);
        assert_eq!(counts["a"].real, 0);
        assert_eq!(counts[""].embedded, 1);
        assert!(count(suite("conformance"), &all, &names(&["three"])).is_err());
    }

    #[test]
    fn of_a_suite_with_needs_only_ignored_tests_use_a_server() {
        let all = names(&["a::one", "a::two"]);
        let counts = count(suite("kubectl"), &all, &names(&["a::two"])).unwrap();
        let expected = Counts {
            embedded: 1,
            real: 1,
            neither: 1,
        };
        assert_eq!(counts["a"], expected);
    }
}
