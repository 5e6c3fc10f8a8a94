//! Replaces values that vary between runs.

use std::sync::LazyLock;

use regex::{Captures, Regex};

static RULES: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        // Headings of differences contain temporary files and the time.
        (r"(?m)^(diff|---|\+\+\+) .*\n", ""),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
        (r"\b10\.\d+\.\d+\.\d+\b", "<ip>"),
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uid>"),
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
        (
            r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}",
            "<time>",
        ),
        (r#"("?resourceVersion"?: ?)"\d+""#, "$1<version>"),
        (r"(Resource Version: +)\d+", "$1<version>"),
        (r"\b(\d+[ydhm])*\d+[ydhms]\b", "<age>"),
        (r"(?m)^((Client|Kustomize) Version:) .*", "$1 <version>"),
        // A slow server may report an address as unallocated that it has just allocated.
        (
            r"(?m)^Events:\n +Type .*\n +---- .*\n( +Warning +ClusterIPNotAllocated .*(\n|\z))+",
            "Events:  <none>\n",
        ),
        // kubectl prints this since 1.34.
        (r" from \{ns\} namespace", ""),
        (r"(?m)[ \t]+$", ""),
    ]
    .into_iter()
    .map(|(pattern, word)| (Regex::new(pattern).expect("a pattern"), word))
    .collect()
});

/// A status as JSON, whose members have no fixed order.
static STATUS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?m)^\{.*"kind":"Status".*\}$"#).expect("a pattern"));

/// The widths of columns depend on their content: reduce the gaps to two spaces.
static COLUMNS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^( *)(.*)$").expect("a pattern"));
static GAPS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r" {3,}").expect("a pattern"));

/// Returns the text without values that vary between runs.
pub(crate) fn tidy(text: &str, namespace: &str, folder: &str) -> String {
    let text = text.replace(namespace, "{ns}").replace(folder, "{folder}");
    let text = RULES.iter().fold(text, |text, (pattern, word)| {
        pattern.replace_all(&text, *word).into_owned()
    });
    let text = STATUS.replace_all(&text, |line: &Captures<'_>| sorted(&line[0]));
    let lines = COLUMNS.replace_all(&text, |line: &Captures<'_>| {
        format!("{}{}", &line[1], GAPS.replace_all(&line[2], "  "))
    });
    lines.trim_end().to_owned()
}

/// Sorts the members of JSON by name. Other text is not changed.
fn sorted(text: &str) -> String {
    let Ok(mut json) = serde_json::from_str::<serde_json::Value>(text) else {
        return text.to_owned();
    };
    json.sort_all_objects();
    json.to_string()
}

#[test]
fn varying_values_are_replaced_and_the_rest_is_kept() {
    for (text, wanted) in [
        ("NAME    AGE\npods    12s  \n", "NAME  AGE\npods  <age>"),
        (
            r#"{"kind":"Status","status":"Success","code":201}"#,
            r#"{"code":201,"kind":"Status","status":"Success"}"#,
        ),
        (
            "Events:\n  Type     Reason\n  ----     ------\n  Warning  ClusterIPNotAllocated  1s  x\n",
            "Events:  <none>",
        ),
        (
            "Events:\n  Type     Reason\n  ----     ------\n  Normal   Started  1s  x\n",
            "Events:\n  Type  Reason\n  ----  ------\n  Normal  Started  <age>  x",
        ),
        (
            "  a: b\n    uid: 0a1b2c3d-1234-1234-1234-0123456789ab",
            "  a: b\n    uid: <uid>",
        ),
        (
            "resourceVersion: \"12\"\nResource Version:   12",
            "resourceVersion: <version>\nResource Version:  <version>",
        ),
        (
            "at 2026-11-15T11:42:41Z or Sun, 15 Nov 2026 11:42:45 +0000",
            "at <time> or <time>",
        ),
        (
            "pod \"a\" deleted from test-1 namespace in /tmp/x/a",
            "pod \"a\" deleted in {folder}/a",
        ),
        ("--- a b\n+++ a b\n-c\n---\nd", "-c\n---\nd"),
    ] {
        assert_eq!(tidy(text, "test-1", "/tmp/x"), wanted);
    }
}
