//! The pages of `docs/conformance` name existing tests, and every row of their tables names one or the reason
//! why there is none.
//!
//! A test is named `path/to/file.rs::function`, where the path is the end of exactly one file's path in the
//! repository. `::function` is in the same file as the name before it, and a file alone means all of its
//! tests.

#[path = "markdown/mod.rs"]
mod markdown;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use markdown::root;

/// Prefix of the cell of a row without a test, before the reason.
const NO_TEST: &str = "No test: ";

/// The tests of each source file, by its path in the repository.
type Tests = BTreeMap<String, Vec<String>>;

#[test]
fn every_test_that_is_named_exists_and_every_row_has_one() {
    let tests = tests();
    let mut wrong = Vec::new();
    for entry in fs::read_dir(root().join("docs/conformance")).expect("the folder") {
        let path = entry.expect("a file").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        // Their numbers are written and checked by `cargo xtask mutants` and `cargo xtask test-table`.
        if !["mutants.md", "servers.md"].contains(&&*name) {
            let text = fs::read_to_string(&path).expect("a page");
            wrong.extend(
                check(&text, &tests)
                    .into_iter()
                    .map(|what| format!("{name}:{what}")),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn wrong_names_are_noticed() {
    let tests = Tests::from([
        ("crates/one/src/a/tests.rs".to_owned(), vec!["here".to_owned()]),
        ("crates/two/src/a/tests.rs".to_owned(), vec!["here".to_owned()]),
        (
            "tests/twice.rs".to_owned(),
            vec!["same".to_owned(), "same".to_owned()],
        ),
    ]);
    let row = |cell: &str| {
        let page = format!("| behaviour | test |\n|---|---|\n| something | {cell} |\n");
        check(&page, &tests)
    };
    for good in [
        "`one/src/a/tests.rs::here`",
        "`one/src/a/tests.rs::here`, `::here`",
        "`one/src/a/tests.rs`",
        "by `Type::method`: `two/src/a/tests.rs::here`",
        "No test: `some_function` cannot fail",
    ] {
        assert_eq!(row(good), [""; 0], "{good}");
    }
    for bad in [
        "`a/tests.rs::here`",
        "`one/src/a/tests.rs::gone`",
        "`src/gone.rs::here`",
        "`gone.rs`, `one/src/a/tests.rs::here`",
        "`::here`",
        "`one::tests::here`",
        "`…::here`, `one/src/a/tests.rs::here`",
        "`b7_…`, `one/src/a/tests.rs::here`",
        "`tests/twice.rs::same`",
        "no such thing",
        "",
    ] {
        assert_eq!(row(bad).len(), 1, "{bad}");
    }
}

/// Returns the errors of a page, with line numbers.
fn check(page: &str, tests: &Tests) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut is_row = false;
    for (number, line) in (1..).zip(page.lines()) {
        let mut say = |what: String| wrong.push(format!("{number}: {what}"));
        let mut named = 0;
        let mut file = None;
        let mut failed = false;
        for code in line.split('`').skip(1).step_by(2) {
            match find(code, &mut file, tests) {
                Ok(found) => named += usize::from(found),
                Err(why) => {
                    failed = true;
                    say(format!("`{code}` {why}"));
                }
            }
        }
        // The rows of a table follow the line below its head.
        is_row = line.starts_with('|') && (is_row || line.starts_with("|---"));
        if is_row && !line.starts_with("|---") && !failed {
            let cell = line
                .trim_end_matches(['|', ' '])
                .rsplit(" | ")
                .next()
                .unwrap_or_default();
            if named == 0 && !cell.starts_with(NO_TEST) {
                say(format!("name a test, or write \"{NO_TEST}\" and the reason"));
            }
        }
    }
    wrong
}

/// Returns whether a code span is the name of a test or of a file of tests, which must exist. `file` is the
/// file that was named last.
fn find<'a>(code: &str, file: &mut Option<&'a str>, tests: &'a Tests) -> Result<bool, &'static str> {
    let (path, test) = match code.split_once("::") {
        Some(("", test)) => (None, Some(test)),
        Some((path, test)) if is_source(path) => (Some(path), Some(test)),
        None if is_source(code) => (Some(code), None),
        _ if is_old_form(code) => return Err("is not written as file.rs::function"),
        _ => return Ok(false),
    };
    if let Some(path) = path {
        let is_end = |whole: &&String| Path::new(whole).ends_with(path);
        let mut found = tests.keys().filter(is_end);
        *file = found.next().map(String::as_str);
        if file.is_none() {
            return Err("is not a file with tests");
        }
        if found.next().is_some() {
            return Err("matches several files: write a longer path");
        }
    }
    let Some(file) = *file else {
        return Err("has no file before it");
    };
    let Some(test) = test else {
        return Ok(true);
    };
    match tests[file].iter().filter(|known| *known == test).count() {
        0 => Err("is not in that file"),
        1 => Ok(true),
        _ => Err("is in that file several times"),
    }
}

fn is_source(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "rs")
}

/// Returns whether this is a test named by its module, or the beginning of a name: neither can be looked up.
fn is_old_form(code: &str) -> bool {
    let is_module = |part: &str| {
        part.chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    code.contains('…') || (code.matches("::").count() > 1 && code.split("::").all(is_module))
}

/// Returns all tests of the repository, and the files with examples in their documentation.
fn tests() -> Tests {
    let mut tests = Tests::new();
    for folder in ["crates", "docs", "sim", "tests", "xtask"] {
        gather(&root().join(folder), &mut tests);
    }
    tests
}

fn gather(folder: &Path, tests: &mut Tests) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            gather(&path, tests);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let code = fs::read_to_string(&path).expect("a source file");
            let found = functions(&code);
            if !found.is_empty() || code.contains("/// ```") {
                let path = path.strip_prefix(root()).unwrap_or(&path);
                tests.insert(path.to_string_lossy().into_owned(), found);
            }
        }
    }
}

/// Returns the names of the functions with a test attribute.
fn functions(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in code.lines().map(str::trim_start) {
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let function = line
            .strip_prefix("async fn ")
            .or_else(|| line.strip_prefix("fn "));
        if let Some(function) = function.filter(|_| is_test) {
            names.extend(function.split_once('(').map(|(name, _)| name.to_owned()));
            is_test = false;
        }
    }
    names
}
