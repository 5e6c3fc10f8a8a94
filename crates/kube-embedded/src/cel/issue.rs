//! Errors of an expression that does not compile.

use std::fmt::Write as _;

/// One error, at a place in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Issue {
    /// Offset in characters.
    pub(super) at: usize,
    pub(super) message: String,
}

impl Issue {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Issue {
        Issue {
            at,
            message: message.into(),
        }
    }
}

/// Returns the errors as the server prints them: each with its line, its column and the line of the source.
pub(super) fn describe(source: &str, mut issues: Vec<Issue>) -> String {
    issues.sort_by_key(|issue| issue.at);
    issues.dedup();
    let lines: Vec<Vec<char>> = source.split('\n').map(|line| line.chars().collect()).collect();
    let texts: Vec<String> = issues.iter().map(|issue| one(&lines, issue)).collect();
    texts.join("\n")
}

fn one(lines: &[Vec<char>], issue: &Issue) -> String {
    let (mut line, mut column) = (0, issue.at);
    while line + 1 < lines.len() && column > lines[line].len() {
        column -= lines[line].len() + 1;
        line += 1;
    }
    let mut text = format!("ERROR: <input>:{}:{}: {}", line + 1, column + 1, issue.message);
    let shown: &[char] = lines.get(line).map_or(&[], Vec::as_slice);
    if shown.len() <= 16_384 {
        let snippet: String = shown.iter().map(|c| if *c == '\t' { ' ' } else { *c }).collect();
        let marks: String = shown
            .iter()
            .take(column)
            .map(|c| if c.is_ascii() { '.' } else { '\u{ff0e}' })
            .collect();
        let mark = match shown.get(column) {
            Some(c) if !c.is_ascii() => '\u{ff3e}',
            _ => '^',
        };
        let _ = write!(text, "\n | {snippet}\n | {marks}{mark}");
    }
    text
}
