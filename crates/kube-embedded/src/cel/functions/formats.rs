//! Named formats of texts.

use jiff::civil::Date;

use super::super::eval::Budget;
use super::super::value::Value;
use super::{Entry, Evaluated, no_overload, tenth};
use crate::validation::names;

pub(super) const TABLE: &[Entry] = &[
    ("format.dns1123Label", FORMAT, |_, _| {
        Ok(Value::Format("dns1123Label"))
    }),
    ("format.dns1123Subdomain", FORMAT, |_, _| {
        Ok(Value::Format("dns1123Subdomain"))
    }),
    ("format.dns1035Label", FORMAT, |_, _| {
        Ok(Value::Format("dns1035Label"))
    }),
    ("format.qualifiedName", FORMAT, |_, _| {
        Ok(Value::Format("qualifiedName"))
    }),
    ("format.dns1123LabelPrefix", FORMAT, |_, _| {
        Ok(Value::Format("dns1123LabelPrefix"))
    }),
    ("format.dns1123SubdomainPrefix", FORMAT, |_, _| {
        Ok(Value::Format("dns1123SubdomainPrefix"))
    }),
    ("format.dns1035LabelPrefix", FORMAT, |_, _| {
        Ok(Value::Format("dns1035LabelPrefix"))
    }),
    ("format.labelValue", FORMAT, |_, _| {
        Ok(Value::Format("labelValue"))
    }),
    ("format.uri", FORMAT, |_, _| Ok(Value::Format("uri"))),
    ("format.uuid", FORMAT, |_, _| Ok(Value::Format("uuid"))),
    ("format.byte", FORMAT, |_, _| Ok(Value::Format("byte"))),
    ("format.date", FORMAT, |_, _| Ok(Value::Format("date"))),
    ("format.datetime", FORMAT, |_, _| Ok(Value::Format("datetime"))),
    ("format.named", "(string) optional<kubernetes.NamedFormat>", named),
    (
        "validate",
        "kubernetes.NamedFormat.(string) optional<list<string>>",
        validate,
    ),
];

const FORMAT: &str = "() kubernetes.NamedFormat";
const NAMES: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

fn named(_: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::String(text)] = args else {
        return Err(no_overload());
    };
    let name = NAMES.iter().find(|name| **name == &**text);
    Ok(name.map_or(Value::Optional(None), |name| Value::some(Value::Format(name))))
}

fn validate(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::Format(name), Value::String(text)] = args else {
        return Err(no_overload());
    };
    budget.charge(tenth(text.len() + 1) * 15)?;
    let wrong = problems(name, text);
    if wrong.is_empty() {
        return Ok(Value::Optional(None));
    }
    let wrong: Vec<Value> = wrong.into_iter().map(Value::from).collect();
    Ok(Value::some(Value::from(wrong)))
}

fn problems(name: &str, text: &str) -> Vec<String> {
    let one = |holds: bool, why: &str| if holds { Vec::new() } else { vec![why.to_owned()] };
    match name {
        "dns1123Label" => names::label(text),
        "dns1123LabelPrefix" => names::label(&masked(text)),
        "dns1123Subdomain" => names::subdomain(text),
        "dns1123SubdomainPrefix" => names::subdomain(&masked(text)),
        "dns1035Label" => names::label_1035(text),
        "dns1035LabelPrefix" => names::label_1035(&masked(text)),
        "qualifiedName" => names::qualified(text),
        "labelValue" => names::label_value(text),
        "uri" => super::url::problem(text).into_iter().collect(),
        "uuid" => one(is_uuid(text), "does not match the UUID format"),
        "byte" => one(super::bytes::decode_base64(text).is_some(), "invalid base64"),
        "date" => one(text.parse::<Date>().is_ok() && text.len() == 10, "invalid date"),
        _ => one(super::time::parse_timestamp(text).is_some(), "invalid datetime"),
    }
}

/// A prefix of a generated name may end with a dash.
fn masked(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut rest = rest.to_owned();
            rest.pop();
            rest + "a"
        }
        _ => text.to_owned(),
    }
}

fn is_uuid(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
    let dashes: Vec<usize> = text.match_indices('-').map(|(at, _)| at).collect();
    let is_dashed = dashes.is_empty() || dashes == [8, 13, 18, 23];
    digits == 32 && is_dashed && text.len() == digits + dashes.len()
}
