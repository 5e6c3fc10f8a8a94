//! Priority and fairness.

use serde_json::Value;

use super::values;
use crate::row::{Row, number, text};

pub(super) fn flow_schema(row: Row<'_>) -> Vec<Value> {
    let dangling = row
        .condition("Dangling")
        .map_or("?", |condition| text(condition, "status"));
    values![
        row.name(),
        row.text("/spec/priorityLevelConfiguration/name"),
        row.number("/spec/matchingPrecedence"),
        row.given("/spec/distinguisherMethod/type").unwrap_or("<none>"),
        row.age(),
        dangling,
    ]
}

pub(super) fn priority_level(row: Row<'_>) -> Vec<Value> {
    let none = || Value::from("<none>");
    let shares = row
        .at("/spec/limited")
        .map_or_else(none, |limited| number(limited, "nominalConcurrencyShares").into());
    let queuing = |field| {
        row.at("/spec/limited/limitResponse/queuing")
            .map_or_else(none, |queuing| number(queuing, field).into())
    };
    values![
        row.name(),
        row.text("/spec/type"),
        shares,
        queuing("queues"),
        queuing("handSize"),
        queuing("queueLengthLimit"),
        row.age(),
    ]
}
