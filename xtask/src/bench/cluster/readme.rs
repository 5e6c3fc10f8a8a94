//! The summary in the README.

use std::fmt::Write as _;

use super::figures::{Measurements, Metric};
use super::table::{in_words, shown};
use crate::Outcome;

/// The lines before and after the summary in the README.
const BEGIN: &str = "<!-- figures of `cargo xtask bench` -->\n";
const END: &str = "<!-- end of the figures -->";

/// The subjects of the summary, with their descriptions.
const ROWS: [(&str, &str); 6] = [
    ("client-go, protobuf", "client-go, protobuf"),
    ("kube-runtime, streaming", "kube-runtime"),
    (
        "kube-informer, typed, protobuf",
        "kube-informer, whole pods as k8s-openapi's types",
    ),
    (
        "kube-informer, packed, protobuf",
        "kube-informer, whole pods, packed",
    ),
    (
        "kube-informer, packed projection, protobuf",
        "kube-informer, user-defined struct, packed",
    ),
    ("floor, protobuf", "baseline: download only, no decoding"),
];

const COLUMNS: [(Metric, &str); 5] = [
    (Metric::SyncCpu, "CPU to sync"),
    (Metric::Peak, "peak memory"),
    (Metric::Steady, "memory per pod, settled"),
    (Metric::UpdateCpu, "CPU of an update"),
    (Metric::RelistCpu, "CPU to relist"),
];

/// The size of the run.
pub(super) struct RunSummary {
    pub(super) pods: usize,
    pub(super) rounds: u32,
}

/// Returns the README with the new summary.
pub(super) fn with(readme: &str, run: &RunSummary, figures: &Measurements) -> Outcome<String> {
    let missing = || format!("missing lines in the README: {BEGIN}…{END}");
    let (before, rest) = readme.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    let RunSummary { pods, rounds } = run;
    let rounds = in_words(*rounds);
    let heading = format!(
        "{pods} pods on a real API server, compared with client-go and kube-runtime; {rounds} ([all \
         figures](docs/benchmarks/cluster.md)):\n\n"
    );
    let plot = "\n![The same data as bars](docs/benchmarks/cluster.svg)\n";
    Ok(format!(
        "{before}{BEGIN}{heading}{}{plot}{END}{after}",
        table(figures)?
    ))
}

fn table(figures: &Measurements) -> Outcome<String> {
    let mut table = "| |".to_owned();
    for (_, column) in COLUMNS {
        write!(table, " {column} |")?;
    }
    writeln!(table, "\n|---|{}", "---:|".repeat(COLUMNS.len()))?;
    for (subject, row) in ROWS {
        write!(table, "| {row} |")?;
        for (measure, _) in COLUMNS {
            match figures.median(subject, measure) {
                Some(value) => write!(table, " {} {} |", shown(value), measure.unit())?,
                None => write!(table, " – |")?,
            }
        }
        table.push('\n');
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_replaces_the_previous_one() {
        let mut figures = Measurements::default();
        figures.add("client-go, protobuf", Metric::SyncCpu, 6.88);
        let readme = format!("# Title\n\n{BEGIN}old\n{END}\n\nMore.\n");
        let run = RunSummary { pods: 30, rounds: 1 };
        let written = with(&readme, &run, &figures).unwrap();
        assert!(
            written.starts_with(&format!("# Title\n\n{BEGIN}30 pods on")),
            "{written}"
        );
        assert!(
            written.contains("| client-go, protobuf | 6.88 s | – | – | – | – |\n"),
            "{written}"
        );
        assert!(written.ends_with(&format!("{END}\n\nMore.\n")) && !written.contains("old"));
        assert_eq!(with(&written, &run, &figures).unwrap(), written);
        assert!(with("# Title\n", &run, &figures).is_err());
    }

    #[test]
    fn the_readme_has_the_lines_around_the_summary() {
        let readme = include_str!("../../../../README.md");
        with(
            readme,
            &RunSummary { pods: 1, rounds: 2 },
            &Measurements::default(),
        )
        .unwrap();
    }
}
