//! Validates label keys and values in custom resources. The messages are older than those of built-in kinds.

use kube_wire::names::has_name_form;

pub(super) use crate::validation::names::{label_1035 as dns_label, subdomain as dns_subdomain};

const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
    and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const QUALIFIED_PART: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

fn too_long(text: &str, limit: usize) -> Option<String> {
    (text.len() > limit).then(|| format!("must be no more than {limit} characters"))
}

/// Validates the value of a label.
pub(super) fn label_value(text: &str) -> Vec<String> {
    let mut wrong: Vec<String> = too_long(text, 63).into_iter().collect();
    if !text.is_empty() && !has_name_form(text) {
        wrong.push(LABEL_VALUE.into());
    }
    wrong
}

/// Validates the key of a label or an annotation.
pub(super) fn qualified_name(text: &str) -> Vec<String> {
    let (prefix, name) = match text.split_once('/') {
        None => (None, text),
        Some((prefix, name)) if !name.contains('/') => (Some(prefix), name),
        Some(_) => {
            return vec![format!(
                "a qualified name {QUALIFIED_PART} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
    };
    let mut wrong = Vec::new();
    match prefix {
        Some("") => wrong.push("prefix part must be non-empty".into()),
        Some(prefix) => wrong.extend(
            dns_subdomain(prefix)
                .into_iter()
                .map(|w| format!("prefix part {w}")),
        ),
        None => {}
    }
    if name.is_empty() {
        wrong.push("name part must be non-empty".into());
    } else if let Some(long) = too_long(name, 63) {
        wrong.push(format!("name part {long}"));
    }
    if !has_name_form(name) {
        wrong.push(format!("name part {QUALIFIED_PART}"));
    }
    wrong
}
