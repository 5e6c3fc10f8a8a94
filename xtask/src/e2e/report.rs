//! The JSON report of Ginkgo, which runs the specs.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::Outcome;

/// The results of specs, by name.
#[derive(Debug, Default)]
pub(super) struct Results {
    specs: HashMap<String, SpecResult>,
    /// Why the whole run failed, for example because the server did not respond.
    pub(super) failure: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpecResult {
    pub(super) took: Duration,
    pub(super) state: SpecState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SpecState {
    Passed,
    /// With the first line of the message.
    Failed(String),
}

impl Results {
    pub(super) fn read(path: &Path) -> Outcome<Self> {
        Self::parse(&serde_json::from_slice(&fs::read(path)?)?)
    }

    fn parse(report: &Value) -> Outcome<Self> {
        let suite = report.get(0).ok_or("the report of e2e.test has no suite")?;
        let mut results = Self::default();
        for spec in suite["SpecReports"].as_array().into_iter().flatten() {
            let message = first_line(&spec["Failure"]["Message"]);
            let state = match spec["State"].as_str().unwrap_or_default() {
                "passed" => SpecState::Passed,
                // Not selected, or skipped by its own code, for example because it needs a node.
                "skipped" | "pending" if message.is_empty() => continue,
                "skipped" => SpecState::Failed(format!("skipped: {message}")),
                state => SpecState::Failed(format!("{state}: {message}")),
            };
            if spec["LeafNodeType"] == "It" {
                let took = Duration::from_nanos(spec["RunTime"].as_u64().unwrap_or_default());
                results.specs.insert(name(spec), SpecResult { took, state });
            } else if let SpecState::Failed(message) = state {
                results.failure.get_or_insert(message);
            }
        }
        Ok(results)
    }

    pub(super) fn get(&self, name: &str) -> Option<&SpecResult> {
        self.specs.get(name)
    }

    /// Adds the results of other specs.
    pub(super) fn add(&mut self, other: Self) {
        self.specs.extend(other.specs);
        self.failure = self.failure.take().or(other.failure);
    }

    /// Returns the names of the specs that passed.
    pub(super) fn into_passed(self) -> Vec<String> {
        let passed =
            |(name, result): (String, SpecResult)| (result.state == SpecState::Passed).then_some(name);
        let mut names: Vec<String> = self.specs.into_iter().filter_map(passed).collect();
        names.sort();
        names
    }
}

#[cfg(test)]
impl Results {
    /// Returns results of specs that took a second.
    pub(super) fn of<const N: usize>(specs: [(&str, SpecState); N]) -> Self {
        let took = Duration::from_secs(1);
        let specs = specs.map(|(name, state)| (name.to_owned(), SpecResult { took, state }));
        Self {
            specs: specs.into(),
            failure: None,
        }
    }
}

/// Returns a spec's name with those of its containers, as Ginkgo matches it.
fn name(spec: &Value) -> String {
    let containers = spec["ContainerHierarchyTexts"].as_array().into_iter().flatten();
    let texts = containers
        .chain([&spec["LeafNodeText"]])
        .filter_map(Value::as_str);
    texts.collect::<Vec<_>>().join(" ")
}

fn first_line(message: &Value) -> String {
    let lines = message.as_str().unwrap_or_default().lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).take(1).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn specs_have_their_full_name_and_the_first_line_of_their_failure() {
        let spec = |leaf: &str, state: &str, message: &str| {
            json!({
                "ContainerHierarchyTexts": ["[sig] Watchers"],
                "LeafNodeType": "It",
                "LeafNodeText": leaf,
                "State": state,
                "RunTime": 1_500_000_000,
                "Failure": {"Message": message},
            })
        };
        let report = json!([{"SpecReports": [
            spec("one", "passed", ""),
            spec("two", "failed", "\n  expected this\nbut got that"),
            spec("three", "skipped", ""),
            spec("four", "skipped", "requires a node"),
            {"LeafNodeType": "BeforeSuite", "State": "failed", "Failure": {"Message": "no server"}},
        ]}]);
        let results = Results::parse(&report).unwrap();
        let one = results.get("[sig] Watchers one").unwrap();
        assert_eq!((one.took.as_millis(), &one.state), (1500, &SpecState::Passed));
        let failed = |name| match &results.get(name).unwrap().state {
            SpecState::Failed(message) => message.clone(),
            SpecState::Passed => panic!("{name} passed"),
        };
        assert_eq!(failed("[sig] Watchers two"), "failed: expected this");
        assert_eq!(failed("[sig] Watchers four"), "skipped: requires a node");
        assert_eq!(results.get("[sig] Watchers three"), None);
        assert_eq!(results.failure.as_deref(), Some("failed: no server"));
        assert_eq!(results.into_passed(), ["[sig] Watchers one"]);
    }
}
