//! Merges the tables of messages of several releases of Kubernetes.
//!
//! A client reads objects of servers of many releases. The table contains the release of the embedded server,
//! and additions of other releases: kinds, messages and fields. Numbers of fields are never reused, so the
//! releases must not conflict. If they do, nothing is written.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::Outcome;

/// The content of a table.
#[derive(Debug, Default, PartialEq, Eq)]
struct Messages {
    /// Kinds by apiVersion and package.
    kinds: BTreeMap<String, Vec<String>>,
    /// Messages by package and name.
    messages: BTreeMap<(String, String), Message>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Message {
    shape: String,
    /// The rest of the line, by number.
    fields: BTreeMap<u32, String>,
}

/// Adds the additions of another table to a table.
pub(crate) fn merge(table: &str, other: &str) -> Outcome<String> {
    let mut merged = Messages::parse(table)?;
    merged.add(Messages::parse(other)?)?;
    let legend: String = table
        .lines()
        .filter(|line| line.starts_with('#'))
        .fold(String::new(), |legend, line| legend + line + "\n");
    Ok(legend + &merged.print())
}

impl Messages {
    fn parse(table: &str) -> Outcome<Self> {
        let mut found = Self::default();
        let mut kinds = String::new();
        let mut package = String::new();
        let mut message = None;
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix("kinds ") {
                name.clone_into(&mut kinds);
            } else if let Some(name) = line.strip_prefix("package ") {
                name.clone_into(&mut package);
            } else if let Some(head) = line.strip_prefix("message ") {
                let (name, shape) = head.split_once(' ').unwrap_or((head, ""));
                let key = (package.clone(), name.to_owned());
                let entry = found.messages.entry(key).or_default();
                shape.clone_into(&mut entry.shape);
                message = Some(entry);
            } else if let (Some(message), Some((number, field))) =
                (&mut message, line.trim_start().split_once(' '))
            {
                message.fields.insert(number.parse()?, field.to_owned());
            } else {
                let entries = found.kinds.entry(kinds.clone()).or_default();
                entries.push(line.trim_start().to_owned());
            }
        }
        Ok(found)
    }

    fn add(&mut self, other: Self) -> Outcome {
        for (place, kinds) in other.kinds {
            let known = self.kinds.entry(place).or_default();
            known.extend(kinds);
            known.sort_unstable();
            known.dedup();
        }
        for (key, message) in other.messages {
            let Some(known) = self.messages.get_mut(&key) else {
                self.messages.insert(key, message);
                continue;
            };
            known
                .add(message)
                .map_err(|why| format!("{}.{}: {why}", key.0, key.1))?;
        }
        Ok(())
    }

    fn print(&self) -> String {
        let mut text = String::new();
        for (place, kinds) in &self.kinds {
            let _ = writeln!(text, "kinds {place}");
            for kind in kinds {
                let _ = writeln!(text, " {kind}");
            }
        }
        let mut before = "";
        for ((package, name), message) in &self.messages {
            if package != before {
                let _ = writeln!(text, "package {package}");
                before = package;
            }
            let _ = writeln!(text, "{}", format!("message {name} {}", message.shape).trim_end());
            for (number, field) in &message.fields {
                let _ = writeln!(text, " {number} {field}");
            }
        }
        text
    }
}

impl Message {
    fn add(&mut self, other: Self) -> Outcome {
        if self.shape != other.shape {
            return Err(format!("conflicting shapes {:?} and {:?}", self.shape, other.shape).into());
        }
        for (number, field) in other.fields {
            if let Some(known) = self.fields.get(&number) {
                // How Go prints a field may change, but not its name and type.
                if what(known) != what(&field) {
                    return Err(format!("conflicting fields {number}: {known:?} and {field:?}").into());
                }
            } else {
                let field = absent_before(&field).map_err(|why| format!("{number} {field}: {why}"))?;
                self.fields.insert(number, field);
            }
        }
        Ok(())
    }
}

/// Returns the name and type of a field.
fn what(field: &str) -> Vec<&str> {
    field.split(' ').take(2).collect()
}

/// Adapts a field of a message that other releases lack: their objects must be printed without it. A message
/// that Go stores by value is therefore treated as one stored by pointer; it is encoded in both cases.
fn absent_before(field: &str) -> Outcome<String> {
    let mut words: Vec<&str> = field.split(' ').collect();
    let (Some(kind), flags) = (words.get(1).copied(), words.get(2..).unwrap_or_default()) else {
        return Err("missing type".into());
    };
    if !flags.contains(&"omitempty") || flags.contains(&"inline") {
        return Err("the field would be printed for releases without it".into());
    }
    if kind.starts_with('@') && !flags.contains(&"pointer") {
        words.insert(2, "pointer");
    }
    Ok(words.join(" "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::go_table::MESSAGES;
    use crate::groups_table::k8s_openapi;

    const OLD: &str = "# legend
kinds v1 core
 Pod
package core
message Pod
 1 metadata @Meta omitempty
message Schema schema-or-bool
 1 allows bool
";

    #[test]
    fn additions_of_another_release_are_added() {
        let new = "kinds apps/v1 apps
 Deployment
kinds v1 core
 Node
package apps
message Deployment
 1 spec @core.Pod
package core
message Pod
 1 metadata @Meta
 10 user int64 pointer omitempty
 2 status @Status omitempty
";
        let merged = "# legend
kinds apps/v1 apps
 Deployment
kinds v1 core
 Node
 Pod
package apps
message Deployment
 1 spec @core.Pod
package core
message Pod
 1 metadata @Meta omitempty
 2 status @Status pointer omitempty
 10 user int64 pointer omitempty
message Schema schema-or-bool
 1 allows bool
";
        assert_eq!(merge(OLD, new).unwrap(), merged);
        assert_eq!(merge(OLD, OLD).unwrap(), OLD);
    }

    #[test]
    fn releases_that_contradict_each_other_are_refused() {
        for field in [
            "1 metadata string",
            "1 name @Meta omitempty",
            "2 count int32",
            "2 x @Y inline omitempty",
        ] {
            let other = format!("package core\nmessage Pod\n {field}\n");
            assert!(merge(OLD, &other).is_err(), "{field}");
        }
        assert!(merge(OLD, "package core\nmessage Schema list\n").is_err());
    }

    /// A field that is missing in the table would be lost silently, so every field of every type of
    /// k8s-openapi, in any of its releases, must be present. Types without a message are read as JSON.
    #[test]
    fn every_field_of_every_type_of_k8s_openapi_is_known() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("xtask is in the tree");
        let table = fs::read_to_string(root.join(MESSAGES.path)).expect("the table is there");
        let table = Messages::parse(&table).expect("the table can be read");
        let mut types = 0;
        let mut missing = Vec::new();
        for file in files(
            &k8s_openapi(root)
                .expect("the workspace has k8s-openapi")
                .join("src"),
        ) {
            let text = fs::read_to_string(&file).expect("the file can be read");
            let Some((name, fields)) = fields_in(&text) else {
                continue;
            };
            let Some(key) = table.key(&name) else { continue };
            types += 1;
            let known = table.json_names(&key);
            let unknown = fields.iter().filter(|field| !known.contains(**field));
            missing.extend(unknown.map(|field| format!("{}: {name} has {field}", file.display())));
        }
        assert!(types > 3000, "only {types} types were found");
        assert!(missing.is_empty(), "{}", missing.join("\n"));
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                found.extend(files(&path));
            } else {
                found.push(path);
            }
        }
        found
    }

    /// Returns the name of a type in Kubernetes, and the JSON names of its fields.
    fn fields_in(text: &str) -> Option<(String, Vec<&str>)> {
        let (_, rest) = text.split_once("// Generated from definition io.k8s.")?;
        let name = rest.lines().next()?;
        let (_, rest) = text.split_once(".deserialize_struct(")?;
        let (_, rest) = rest.split_once("&[")?;
        let (list, _) = rest.split_once(']')?;
        let fields = list.split('"').skip(1).step_by(2);
        // These are in no message.
        let fields = fields
            .filter(|field| !["apiVersion", "kind"].contains(field))
            .collect();
        Some((format!("k8s.io.{name}"), fields))
    }

    impl Messages {
        fn key(&self, name: &str) -> Option<(String, String)> {
            let (package, name) = name.rsplit_once('.')?;
            let key = (package.to_owned(), name.to_owned());
            self.messages.contains_key(&key).then_some(key)
        }

        fn json_names(&self, key: &(String, String)) -> BTreeSet<String> {
            let mut names = BTreeSet::new();
            for field in self.messages[key].fields.values() {
                let words: Vec<&str> = field.split(' ').collect();
                if words.contains(&"inline") {
                    let name = words[1].trim_start_matches('@');
                    let full = if name.contains('.') {
                        name.to_owned()
                    } else {
                        format!("{}.{name}", key.0)
                    };
                    names.extend(self.json_names(&self.key(&full).expect("it is in the table")));
                } else {
                    names.insert(words[0].to_owned());
                }
            }
            names
        }
    }
}
