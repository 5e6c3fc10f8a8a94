//! JSON and YAML output of objects.

use kube_informer::discovery::DiscoveredResource;
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// The indentation of kubectl's JSON output.
const INDENT: &[u8] = b"    ";

/// Returns JSON on one line.
pub(crate) fn json_line(value: &impl Serialize) -> Outcome<String> {
    serde_json::to_string(value).map_err(|error| unprintable(&error))
}

/// Returns indented JSON, without a line break at the end.
pub(crate) fn json_pretty(value: &impl Serialize) -> Outcome<String> {
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(INDENT);
    value
        .serialize(&mut serde_json::Serializer::with_formatter(&mut text, formatter))
        .map_err(|error| unprintable(&error))?;
    String::from_utf8(text).map_err(|error| unprintable(&error))
}

/// Returns YAML, with a line break at the end.
pub(crate) fn yaml(value: &impl Serialize) -> Outcome<String> {
    let mut text = serde_saphyr::to_string(value).map_err(|error| unprintable(&error))?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// Returns kind and name: `pod/web-1`, `deployment.apps/web`.
pub(crate) fn name(resource: &DiscoveredResource, object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    format!("{}{name}", prefix(resource))
}

/// Returns the prefix of names: `pod/`, `deployment.apps/`.
pub(crate) fn prefix(resource: &DiscoveredResource) -> String {
    let names = resource.api_resource();
    let singular = match resource.singular() {
        "" => names.kind.to_lowercase(),
        singular => singular.to_owned(),
    };
    match names.group.as_str() {
        "" => format!("{singular}/"),
        group => format!("{singular}.{group}/"),
    }
}

fn unprintable(error: &impl std::fmt::Display) -> Failure {
    Failure::new(format!("cannot print an object: {error}"))
}
