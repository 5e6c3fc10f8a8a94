//! The table of all measurements.

use std::fmt::{self, Write as _};

use super::figures::{Measurements, Metric};
use super::subjects::ClusterSubject;

/// Returns a row per subject with the median of each metric.
pub(super) fn of(subjects: &[&ClusterSubject], figures: &Measurements) -> Result<String, fmt::Error> {
    let mut table = "| |".to_owned();
    for measure in Metric::ALL {
        write!(table, " {} ({}) |", measure.name(), measure.unit())?;
    }
    write!(table, "\n|---|{}", "---:|".repeat(Metric::ALL.len()))?;
    for subject in subjects {
        write!(table, "\n| {} |", subject.name)?;
        for measure in Metric::ALL {
            match figures.median(subject.name, measure) {
                Some(value) => write!(table, " {} |", shown(value))?,
                None => write!(table, " – |")?,
            }
        }
    }
    table.push('\n');
    Ok(table)
}

/// Returns the page of the documentation.
pub(super) fn page(pods: &str, rounds: u32, table: &str, ratios: &str, reads: &str) -> String {
    let rounds = in_words(rounds);
    format!(
        "# Informers on a cluster\n\n\
         Written by `cargo xtask bench`: {pods}. A real kube-apiserver and etcd on the same machine; {rounds}, \
         the subjects in turns, each in a separate process, those in Rust built with link-time optimisation (`lto = \"fat\"`).\n\n\
         ![plot](cluster.svg)\n\n{table}\n\
         A projection keeps a pod's name, namespace, uid, version, owner, node and phase. \
         \"floor\" is this project's client, which only downloads the list. RSS per object is the growth of resident memory \
         after everything has settled: for Go after a collection that returns memory to the system, for both Rust subjects with \
         the default allocator of glibc. The live heap is counted in a separate run. A relist is forced by a \
         server that restarts without its history. The cost of updates is measured until the process is idle: a packed cache \
         compresses changed objects half a minute later, which costs as much per object as the compression after the sync, \
         until everything has settled.\n\n\
         ## Ratios\n\n{ratios}\n\
         ## Reads\n\nCPU time for objects without other references: the median of 21 parts of 5,000 objects, and of \
         each part the average of the fastest of ten passes.\n\n{reads}"
    )
}

pub(super) fn in_words(rounds: u32) -> String {
    match rounds {
        1 => "one round".to_owned(),
        rounds => format!("medians of {rounds} rounds"),
    }
}

/// More than three digits are not significant.
pub(super) fn shown(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::subjects::SUBJECTS;
    use super::*;

    #[test]
    fn missing_measurements_are_dashes() {
        let mut figures = Measurements::default();
        figures.add(SUBJECTS[0].name, Metric::SyncCpu, 1.234);
        let table = of(&[&SUBJECTS[0]], &figures).unwrap();
        let row = table.lines().last().unwrap();
        let not_measured = " – |".repeat(Metric::ALL.len() - 2);
        assert_eq!(row, format!("| client-go, protobuf | – | 1.23 |{not_measured}"));
    }
}
