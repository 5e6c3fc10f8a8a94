//! What is different between two states of an object.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// No more are told; an object that changed in more places is better read as a whole.
const MOST: usize = 200;

/// Fields that say nothing to a reader of differences: one changes with everything, the other is large.
const SKIPPED: [&str; 2] = [".metadata.resourceVersion", ".metadata.managedFields"];

/// A place where two states differ, and what is there in each; nothing where there is no such field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    pub(super) path: String,
    pub(super) old: Option<Value>,
    pub(super) new: Option<Value>,
}

impl Difference {
    pub(super) fn to_json(&self) -> Value {
        json!({ "path": self.path, "old": self.old, "new": self.new })
    }
}

/// Where two states differ.
pub(super) fn differences(old: &Value, new: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(&mut String::new(), Some(old), Some(new), &mut found);
    found
}

fn compare(path: &mut String, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Difference>) {
    if old == new || found.len() >= MOST || SKIPPED.contains(&path.as_str()) {
        return;
    }
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                at(path, &field(name), |path| {
                    compare(path, old.get(name), new.get(name), found);
                });
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => match (names(old), names(new)) {
            (Some(old_names), Some(new_names)) => {
                let all: BTreeSet<&str> = old_names.iter().chain(&new_names).copied().collect();
                for name in all {
                    let place = |names: &[&str]| names.iter().position(|other| *other == name);
                    let old = place(&old_names).map(|place| &old[place]);
                    let new = place(&new_names).map(|place| &new[place]);
                    at(path, &format!("[{name}]"), |path| compare(path, old, new, found));
                }
            }
            _ => {
                for position in 0..old.len().max(new.len()) {
                    let (old, new) = (old.get(position), new.get(position));
                    at(path, &format!("[{position}]"), |path| {
                        compare(path, old, new, found);
                    });
                }
            }
        },
        _ => found.push(Difference {
            path: path.clone(),
            old: old.cloned(),
            new: new.cloned(),
        }),
    }
}

fn at(path: &mut String, step: &str, look: impl FnOnce(&mut String)) {
    let before = path.len();
    path.push_str(step);
    look(path);
    path.truncate(before);
}

fn field(name: &str) -> String {
    let is_plain = name
        .chars()
        .all(|char| char.is_ascii_alphanumeric() || "-_".contains(char));
    if is_plain {
        format!(".{name}")
    } else {
        format!("['{name}']")
    }
}

/// The names of a list's elements, if each has one of its own: then they are the same elements in whatever order.
fn names(items: &[Value]) -> Option<Vec<&str>> {
    ["name", "type"].into_iter().find_map(|field| {
        let names: Option<Vec<&str>> = items.iter().map(|item| item.get(field)?.as_str()).collect();
        names.filter(|names| names.iter().collect::<BTreeSet<_>>().len() == names.len())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::differences;

    #[test]
    fn only_what_differs_is_told_with_its_place() {
        let old = json!({ "metadata": { "resourceVersion": "1", "labels": { "a.b/c": "x" } }, "spec": { "n": 1, "same": [1] } });
        let new = json!({ "metadata": { "resourceVersion": "2", "labels": {} }, "spec": { "n": 2, "same": [1] }, "new": true });
        let told: Vec<String> = differences(&old, &new)
            .iter()
            .map(|d| d.to_json().to_string())
            .collect();
        assert_eq!(
            told,
            [
                r#"{"new":null,"old":"x","path":".metadata.labels['a.b/c']"}"#,
                r#"{"new":true,"old":null,"path":".new"}"#,
                r#"{"new":2,"old":1,"path":".spec.n"}"#,
            ]
        );
    }

    #[test]
    fn elements_with_names_are_compared_by_them() {
        let old = json!([{ "name": "a", "image": "1" }, { "name": "b", "image": "1" }]);
        let new = json!([{ "name": "b", "image": "2" }]);
        let told: Vec<String> = differences(&old, &new).into_iter().map(|d| d.path).collect();
        assert_eq!(told, ["[a]", "[b].image"]);
        let told: Vec<String> = differences(&json!([1, 2]), &json!([1, 3, 4]))
            .into_iter()
            .map(|d| d.path)
            .collect();
        assert_eq!(told, ["[1]", "[2]"]);
    }

    #[test]
    fn an_object_that_is_another_altogether_is_not_told_field_by_field_for_ever() {
        let many = |value: i32| json!((0..10_000).map(|_| value).collect::<Vec<_>>());
        assert_eq!(differences(&many(1), &many(2)).len(), 200);
    }
}
