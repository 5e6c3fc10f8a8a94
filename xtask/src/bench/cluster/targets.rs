//! What the ratios to the peers are to be.

use std::fmt::{self, Write as _};

use super::figures::{Figures, Measure};
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
    measure: Measure,
    /// The first of these that was measured.
    ours: &'static [&'static str],
    to_client_go: Option<f64>,
    to_kube_runtime: Option<f64>,
}

const TARGETS: &[Target] = &[
    Target::new(
        "sync CPU, packed",
        Measure::SyncCpu,
        PACKED,
        Some(0.5),
        Some(0.25),
    ),
    Target::new(
        "sync CPU, projection",
        Measure::SyncCpu,
        PROJECTION,
        Some(0.3),
        Some(0.15),
    ),
    Target::new(
        "sync CPU, packed projection",
        Measure::SyncCpu,
        PACKED_PROJECTION,
        Some(0.3),
        Some(0.15),
    ),
    Target::new("sync CPU, typed", Measure::SyncCpu, TYPED, None, None),
    Target::new(
        "steady memory, packed",
        Measure::Steady,
        PACKED,
        Some(0.1),
        Some(0.02),
    ),
    Target::new(
        "steady memory, projection",
        Measure::Steady,
        PROJECTION,
        Some(0.1),
        Some(0.02),
    ),
    Target::new(
        "steady memory, packed projection",
        Measure::Steady,
        PACKED_PROJECTION,
        Some(0.1),
        Some(0.02),
    ),
    Target::new("steady memory, typed", Measure::Steady, TYPED, None, Some(0.4)),
    Target::new(
        "peak RSS of the sync, packed",
        Measure::Peak,
        PACKED,
        Some(0.3),
        Some(0.1),
    ),
    Target::new(
        "relist CPU, packed",
        Measure::RelistCpu,
        PACKED,
        Some(0.3),
        Some(0.1),
    ),
    Target::new(
        "relist CPU, projection",
        Measure::RelistCpu,
        PROJECTION,
        None,
        None,
    ),
    Target::new("relist CPU, typed", Measure::RelistCpu, TYPED, None, None),
    Target::new(
        "CPU per update, packed",
        Measure::UpdateCpu,
        PACKED,
        Some(0.4),
        Some(0.3),
    ),
    Target::new(
        "CPU per update, projection",
        Measure::UpdateCpu,
        PROJECTION,
        None,
        None,
    ),
    Target::new("CPU per update, typed", Measure::UpdateCpu, TYPED, None, None),
];

impl Target {
    const fn new(
        words: &'static str,
        measure: Measure,
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

/// The ratios beside what they are to be. Of kube-runtime it is the mode that is better in each.
pub(super) fn compared(figures: &Figures) -> Result<String, fmt::Error> {
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

/// How long it takes to look at a packed object that nobody has looked at, in microseconds, and how long it may.
const READS: &[(&str, Measure, f64)] = &[
    ("get of an object, packed", Measure::GetObject, 40.0),
    ("get of a label, packed", Measure::GetLabel, 1.0),
];

/// What is not to be compared with anyone's, because the peers' caches hold objects as they are.
pub(super) fn reads(figures: &Figures) -> Result<String, fmt::Error> {
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

/// A figure, which stands out if it is worse than wanted.
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
    fn a_read_that_takes_too_long_stands_out() {
        let mut figures = Figures::default();
        figures.add("kube-informer, packed, protobuf", Measure::GetObject, 41.0);
        figures.add("kube-informer, packed, protobuf", Measure::GetLabel, 0.75);
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
    fn kube_runtime_is_taken_at_its_better_mode() {
        let mut figures = Figures::default();
        for (subject, cpu) in [
            ("client-go, protobuf", 4.0),
            ("kube-runtime, list", 10.0),
            ("kube-runtime, streaming", 5.0),
            ("kube-informer, packed, protobuf", 1.0),
            ("kube-informer, projection, JSON", 2.0),
        ] {
            figures.add(subject, Measure::SyncCpu, cpu);
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
