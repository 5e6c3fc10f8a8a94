//! The targets of the ratios to the peers.

use std::fmt::{self, Write as _};

use super::figures::{Measurements, Metric};
use super::table::shown;

const CLIENT_GO: &[&str] = &["client-go, protobuf"];
const KUBE_RUNTIME: &[&str] = &["kube-runtime, list", "kube-runtime, streaming"];
const TYPED: &[&str] = &["kube-informer, typed, protobuf", "kube-informer, typed, JSON"];
const PACKED: &[&str] = &["kube-informer, packed, protobuf", "kube-informer, packed, JSON"];
const PROJECTION: &[&str] = &[
    "kube-informer, projection, protobuf",
    "kube-informer, projection, JSON",
];

const PACKED_PROJECTION: &[&str] = &["kube-informer, packed projection, protobuf"];

struct Target {
    words: &'static str,
    measure: Metric,
    /// The first measured one of these is compared.
    ours: &'static [&'static str],
    to_client_go: Option<f64>,
    to_kube_runtime: Option<f64>,
}

const TARGETS: &[Target] = &[
    Target::new("sync CPU, packed", Metric::SyncCpu, PACKED, Some(0.5), Some(0.25)),
    Target::new(
        "sync CPU, projection",
        Metric::SyncCpu,
        PROJECTION,
        Some(0.3),
        Some(0.15),
    ),
    Target::new(
        "sync CPU, packed projection",
        Metric::SyncCpu,
        PACKED_PROJECTION,
        Some(0.3),
        Some(0.15),
    ),
    Target::new("sync CPU, typed", Metric::SyncCpu, TYPED, None, None),
    Target::new(
        "steady memory, packed",
        Metric::Steady,
        PACKED,
        Some(0.1),
        Some(0.02),
    ),
    Target::new(
        "steady memory, projection",
        Metric::Steady,
        PROJECTION,
        Some(0.1),
        Some(0.02),
    ),
    Target::new(
        "steady memory, packed projection",
        Metric::Steady,
        PACKED_PROJECTION,
        Some(0.1),
        Some(0.02),
    ),
    Target::new("steady memory, typed", Metric::Steady, TYPED, None, Some(0.4)),
    Target::new(
        "peak RSS of the sync, packed",
        Metric::Peak,
        PACKED,
        Some(0.3),
        Some(0.1),
    ),
    Target::new(
        "relist CPU, packed",
        Metric::RelistCpu,
        PACKED,
        Some(0.3),
        Some(0.1),
    ),
    Target::new(
        "relist CPU, projection",
        Metric::RelistCpu,
        PROJECTION,
        None,
        None,
    ),
    Target::new("relist CPU, typed", Metric::RelistCpu, TYPED, None, None),
    Target::new(
        "CPU per update, packed",
        Metric::UpdateCpu,
        PACKED,
        Some(0.4),
        Some(0.3),
    ),
    Target::new(
        "CPU per update, projection",
        Metric::UpdateCpu,
        PROJECTION,
        None,
        None,
    ),
    Target::new("CPU per update, typed", Metric::UpdateCpu, TYPED, None, None),
];

impl Target {
    const fn new(
        words: &'static str,
        measure: Metric,
        ours: &'static [&'static str],
        to_client_go: Option<f64>,
        to_kube_runtime: Option<f64>,
    ) -> Target {
        Target {
            words,
            measure,
            ours,
            to_client_go,
            to_kube_runtime,
        }
    }
}

/// Compares the ratios with their targets. Of kube-runtime, the better mode of each metric counts.
pub(super) fn compared(figures: &Measurements) -> Result<String, fmt::Error> {
    let mut table =
        "| | measured | to client-go, protobuf | target | to kube-runtime's better mode | target |\n\
                     |---|---|---:|---:|---:|---:|\n"
            .to_owned();
    for target in TARGETS {
        let measured = target.ours.iter().find(|ours| figures.has(ours));
        write!(table, "| {} | {} |", target.words, measured.unwrap_or(&"–"))?;
        let ours = measured.and_then(|ours| figures.median(ours, target.measure));
        for (peers, wanted) in [
            (CLIENT_GO, target.to_client_go),
            (KUBE_RUNTIME, target.to_kube_runtime),
        ] {
            let theirs = peers
                .iter()
                .filter_map(|peer| figures.median(peer, target.measure));
            let ratio = ours
                .zip(theirs.min_by(f64::total_cmp))
                .map(|(ours, theirs)| ours / theirs);
            write!(
                table,
                " {} | {} |",
                verdict(ratio, wanted, "×"),
                bound(wanted, "×")
            )?;
        }
        table.push('\n');
    }
    Ok(table)
}

/// Targets for reading a packed object for the first time, in microseconds.
const READS: &[(&str, Metric, f64)] = &[
    ("get of an object, packed", Metric::GetObject, 40.0),
    ("get of a label, packed", Metric::GetLabel, 1.0),
];

/// Returns the reads, which have no peer: the caches of the peers contain decoded objects.
pub(super) fn reads(figures: &Measurements) -> Result<String, fmt::Error> {
    let mut table = "| | measured | took | target |\n|---|---|---:|---:|\n".to_owned();
    for (words, measure, most) in READS {
        for subject in PACKED.iter().filter(|subject| figures.has(subject)) {
            let took = verdict(figures.median(subject, *measure), Some(*most), " µs");
            writeln!(
                table,
                "| {words} | {subject} | {took} | {} |",
                bound(Some(*most), " µs")
            )?;
        }
    }
    Ok(table)
}

/// Formats a value, in bold if it is worse than the target.
fn verdict(figure: Option<f64>, wanted: Option<f64>, unit: &str) -> String {
    match (figure, wanted) {
        (None, _) => "–".into(),
        (Some(figure), Some(wanted)) if figure > wanted => format!("**{}{unit}**", shown(figure)),
        (Some(figure), _) => format!("{}{unit}", shown(figure)),
    }
}

fn bound(wanted: Option<f64>, unit: &str) -> String {
    wanted.map_or_else(|| "–".into(), |wanted| format!("≤ {wanted}{unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_reads_are_bold() {
        let mut figures = Measurements::default();
        figures.add("kube-informer, packed, protobuf", Metric::GetObject, 41.0);
        figures.add("kube-informer, packed, protobuf", Metric::GetLabel, 0.75);
        let table = reads(&figures).unwrap();
        let rows: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| get of an object, packed | kube-informer, packed, protobuf | **41.0 µs** | ≤ 40 µs |",
                "| get of a label, packed | kube-informer, packed, protobuf | 0.75 µs | ≤ 1 µs |",
            ]
        );
    }

    #[test]
    fn the_better_mode_of_kube_runtime_is_compared() {
        let mut figures = Measurements::default();
        for (subject, cpu) in [
            ("client-go, protobuf", 4.0),
            ("kube-runtime, list", 10.0),
            ("kube-runtime, streaming", 5.0),
            ("kube-informer, packed, protobuf", 1.0),
            ("kube-informer, projection, JSON", 2.0),
        ] {
            figures.add(subject, Metric::SyncCpu, cpu);
        }
        let table = compared(&figures).unwrap();
        let rows: Vec<_> = table.lines().skip(2).take(3).collect();
        assert_eq!(
            rows,
            [
                "| sync CPU, packed | kube-informer, packed, protobuf | 0.25× | ≤ 0.5× | 0.20× | ≤ 0.25× |",
                "| sync CPU, projection | kube-informer, projection, JSON | **0.50×** | ≤ 0.3× | **0.40×** | ≤ 0.15× |",
                "| sync CPU, packed projection | – | – | ≤ 0.3× | – | ≤ 0.15× |",
            ]
        );
    }
}
