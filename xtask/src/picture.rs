//! `cargo xtask picture`: draws the output of the demo as the README's picture.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Outcome;

const LINES: usize = 30;
const LINE_HEIGHT: usize = 18;
const WIDTH: usize = 900;

/// Draws `docs/demo.svg`.
pub(crate) fn run(root: &Path) -> Outcome {
    let output = Command::new(env!("CARGO"))
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "kubectl-informer",
            "--",
            "demo",
        ])
        .args([
            "--seconds",
            "10",
            "--pace",
            "120",
            "--write-kubeconfig",
            "demo.kubeconfig",
        ])
        .current_dir(root)
        .output()?;
    if !output.status.success() {
        return Err(format!("the demo failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<&str> = vec!["$ cargo run --release -- demo"];
    lines.extend(text.lines().filter(|line| !line.is_empty()).take(LINES - 1));
    let path = root.join("docs/demo.svg");
    fs::create_dir_all(path.parent().ok_or("no parent")?)?;
    fs::write(&path, draw(&lines)?)?;
    println!("wrote {}", path.display());
    Ok(())
}

fn draw(lines: &[&str]) -> Result<String, std::fmt::Error> {
    let height = lines.len() * LINE_HEIGHT + 32;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" font-family=\"monospace\" \
         font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#12161c\"/>\n"
    );
    for (at, line) in lines.iter().enumerate() {
        let colour = match line.chars().next() {
            Some('+') => "#7ee787",
            Some('~') => "#e3b341",
            Some('-') => "#ff7b72",
            Some('$') => "#ffffff",
            _ => "#9fb1c7",
        };
        let y = 28 + at * LINE_HEIGHT;
        let text = line
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        writeln!(
            svg,
            "<text x=\"16\" y=\"{y}\" fill=\"{colour}\" xml:space=\"preserve\">{text}</text>"
        )?;
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}
