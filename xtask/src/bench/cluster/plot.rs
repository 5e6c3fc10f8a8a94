//! The bar charts.

use std::fmt::{self, Write as _};

use super::figures::{Measurements, Metric};
use super::subjects::ClusterSubject;
use super::table::shown;

const SHOWN: [Metric; 5] = [
    Metric::SyncCpu,
    Metric::Steady,
    Metric::Peak,
    Metric::UpdateCpu,
    Metric::RelistCpu,
];
const WIDTH: f64 = 920.0;
const LABELS: f64 = 310.0;
const VALUES: f64 = 90.0;
const BAR: f64 = 16.0;
const STEP: f64 = 22.0;
const HEADING: f64 = 34.0;

/// Text follows the reader's colour scheme; bars are visible on light and on dark.
const STYLE: &str = "text { font: 13px system-ui, sans-serif; fill: #24292f } .head { font-weight: 600 } \
    .floor { fill: #8c959f } .go { fill: #0aa2c0 } .runtime { fill: #e07a1f } .ours { fill: #2da44e } \
    @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }";

/// Draws a group of bars per metric, each with its own scale.
pub(super) fn of(subjects: &[&ClusterSubject], figures: &Measurements) -> Result<String, fmt::Error> {
    let mut bars = String::new();
    let mut y = 0.0;
    for measure in SHOWN {
        let values: Vec<_> = subjects
            .iter()
            .filter_map(|subject| Some((subject.name, figures.median(subject.name, measure)?)))
            .collect();
        let Some(most) = values.iter().map(|(_, value)| *value).max_by(f64::total_cmp) else {
            continue;
        };
        y += HEADING;
        writeln!(
            bars,
            "<text class=\"head\" x=\"8\" y=\"{:.0}\">{}, {}</text>",
            y - 10.0,
            measure.name(),
            measure.unit()
        )?;
        for (name, value) in values {
            let width = (value / most * (WIDTH - LABELS - VALUES)).max(1.0);
            let baseline = y + BAR - 4.0;
            writeln!(bars, "<text x=\"8\" y=\"{baseline:.0}\">{name}</text>")?;
            writeln!(
                bars,
                "<rect class=\"{}\" x=\"{LABELS}\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\"/>",
                colour(name)
            )?;
            let end = LABELS + width + 6.0;
            writeln!(
                bars,
                "<text x=\"{end:.1}\" y=\"{baseline:.0}\">{}</text>",
                shown(value)
            )?;
            y += STEP;
        }
    }
    let height = y + 8.0;
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" aria-label=\"Informers on a cluster; shorter is better\">\n<style>{STYLE}</style>\n{bars}</svg>\n"
    ))
}

fn colour(subject: &str) -> &'static str {
    match subject.split(',').next() {
        Some("client-go") => "go",
        Some("kube-runtime") => "runtime",
        Some("kube-informer") => "ours",
        _ => "floor",
    }
}

#[cfg(test)]
mod tests {
    use super::super::subjects::SUBJECTS;
    use super::*;

    #[test]
    fn a_subjects_name_ends_before_its_bar() {
        for subject in SUBJECTS {
            // The width of letters of this size in a wide font.
            let end = subject.name.chars().fold(8.0, |end, _| end + 7.0);
            assert!(end < LABELS, "{} is too long", subject.name);
        }
    }

    #[test]
    fn bars_are_as_long_as_their_figures() {
        let (long, short) = (&SUBJECTS[0], &SUBJECTS[4]);
        let mut figures = Measurements::default();
        figures.add(long.name, Metric::SyncCpu, 4.0);
        figures.add(short.name, Metric::SyncCpu, 1.0);
        let svg = of(&[long, short], &figures).unwrap();
        assert!(
            svg.contains("class=\"go\" x=\"310\" y=\"34\" width=\"520.0\""),
            "{svg}"
        );
        assert!(
            svg.contains("class=\"ours\" x=\"310\" y=\"56\" width=\"130.0\""),
            "{svg}"
        );
    }
}
