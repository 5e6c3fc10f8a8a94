//! Events of both API groups.

use serde_json::Value;

use super::values;
use crate::row::{Row, number, text};

pub(super) fn event(row: Row<'_>) -> Vec<Value> {
    // The newer group has different names for the same fields.
    let either = |core: &str, events: &str| match row.text(core) {
        "" => row.text(events),
        text => text,
    };
    let object = row
        .at("/involvedObject")
        .or_else(|| row.at("/regarding"))
        .unwrap_or(&Value::Null);
    let since = |text: &str| crate::age::since(text, row.now);

    let first = match either("/firstTimestamp", "/deprecatedFirstTimestamp") {
        "" => row.since("/eventTime"),
        first => since(first),
    };
    let series = row.at("/series");
    let last = match series {
        Some(series) => since(text(series, "lastObservedTime")),
        None => match either("/lastTimestamp", "/deprecatedLastTimestamp") {
            "" => first.clone(),
            last => since(last),
        },
    };
    let count = match series {
        Some(series) => number(series, "count"),
        None => (row.number("/count") + row.number("/deprecatedCount")).max(1),
    };
    let kind = text(object, "kind").to_lowercase();
    let target = match text(object, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let component = match either("/source/component", "/deprecatedSource/component") {
        "" => either("/reportingComponent", "/reportingController"),
        component => component,
    };
    let source = match either("/source/host", "/deprecatedSource/host") {
        "" => row.text("/reportingInstance"),
        host => host,
    };
    let source = match source {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    };
    values![
        last,
        row.text("/type"),
        row.text("/reason"),
        target,
        text(object, "fieldPath"),
        source,
        either("/message", "/note").trim(),
        first,
        count,
        row.name(),
    ]
}
