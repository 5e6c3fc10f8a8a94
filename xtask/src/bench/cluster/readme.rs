//! The short form of the figures, in the README.

use std::fmt::Write as _;

use super::figures::{Figures, Measure};
use super::table::{in_words, shown};
use crate::Outcome;

/// What stands around it in the README.
const BEGIN: &str = "<!-- figures of `cargo xtask bench` -->\n";
const END: &str = "<!-- end of the figures -->";

/// Who is in it, as readers know them.
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
        "kube-informer, a struct of one's own, packed",
    ),
    ("floor, protobuf", "nobody: the bytes thrown away"),
];

const COLUMNS: [(Measure, &str); 5] = [
    (Measure::SyncCpu, "CPU to sync"),
    (Measure::Peak, "peak memory"),
    (Measure::Steady, "memory per pod, settled"),
    (Measure::UpdateCpu, "CPU of an update"),
    (Measure::RelistCpu, "CPU to list again"),
];

/// What was measured, and how often.
pub(super) struct Run {
    pub(super) pods: usize,
    pub(super) rounds: u32,
}

/// The README with these figures in place of those before.
pub(super) fn with(readme: &str, run: &Run, figures: &Figures) -> Outcome<String> {
    let missing = || format!("the README has no place for figures: {BEGIN}…{END}");
    let (before, rest) = readme.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    let Run { pods, rounds } = run;
    let rounds = in_words(*rounds);
    let heading = format!(
        "{pods} pods on a real API server, beside client-go and kube's runtime; {rounds} ([all \
         figures](docs/benchmarks/cluster.md)):\n\n"
    );
    let plot = "\n![The same as bars](docs/benchmarks/cluster.svg)\n";
    Ok(format!(
        "{before}{BEGIN}{heading}{}{plot}{END}{after}",
        table(figures)?
    ))
}

fn table(figures: &Figures) -> Outcome<String> {
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
    fn the_figures_take_the_place_of_those_before_and_nothing_else_changes() {
        let mut figures = Figures::default();
        figures.add("client-go, protobuf", Measure::SyncCpu, 6.88);
        let readme = format!("# Title\n\n{BEGIN}old\n{END}\n\nMore.\n");
        let run = Run { pods: 30, rounds: 1 };
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
    fn the_readme_has_a_place_for_them() {
        let readme = include_str!("../../../../README.md");
        with(readme, &Run { pods: 1, rounds: 2 }, &Figures::default()).unwrap();
    }
}
