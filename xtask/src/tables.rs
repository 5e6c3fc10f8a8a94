//! `cargo xtask tables`: writes the tables of kinds and types for `kube-embedded`, of messages for
//! `kube-wire`, and of built-in kinds for `kube-informer`.
//!
//! The source of the first is the API description that Kubernetes publishes with its Go module: the discovery
//! documents list the resources, the OpenAPI document describes their objects. Only facts are kept (names,
//! types, list and patch semantics), one per line, so that a change of version is a readable diff.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::go_table::{GO_FIELDS, MESSAGES};

use crate::{Outcome, groups_table, messages_table, pins};

const KINDS: &str = "crates/kube-embedded/src/api/kinds.txt";
const TYPES: &str = "crates/kube-embedded/src/schema/types.txt";

/// Writes all tables, or checks whether they are up to date.
pub(crate) fn run(root: &Path, version: &str, check: bool) -> Outcome {
    run_without_go(root, check)?;
    let module = module_dir(version)?;
    let openapi = read_json(&module.join("api/openapi-spec/swagger.json"))?;
    let definitions = openapi["definitions"]
        .as_object()
        .ok_or("no definitions in swagger.json")?;
    let header = format!("# Kubernetes {version}. Written by `cargo xtask tables`; not edited by hand.\n");
    let kinds = header.clone() + &kinds(&module.join("api/discovery"), definitions)?;
    let defaults = defaults(&module.join("api/openapi-spec/v3"))?;
    let types = header.clone() + &types(definitions, &defaults)?;
    let messages = messages(version)?;
    let go_fields = header + &GO_FIELDS.print(version)?;
    for (path, text) in [
        (KINDS, kinds),
        (TYPES, types),
        (MESSAGES.path, messages),
        (GO_FIELDS.path, go_fields),
    ] {
        keep(&root.join(path), &text, check)?;
    }
    Ok(())
}

/// Returns the messages of all supported releases.
fn messages(version: &str) -> Outcome<String> {
    let others = pins::OTHER_MESSAGES;
    let mut table = MESSAGES.print(version)?;
    for other in others {
        table = messages_table::merge(&table, &MESSAGES.print(other)?)
            .map_err(|why| format!("conflicting messages of {version} and {other}: {why}"))?;
    }
    Ok(format!(
        "# Kubernetes {version}, and what {} has more. Written by `cargo xtask tables`; not edited by hand.\n{table}",
        others.join(", ")
    ))
}

/// Like [`run`], for the tables whose source is not in Go.
pub(crate) fn run_without_go(root: &Path, check: bool) -> Outcome {
    keep(&root.join(groups_table::PATH), &groups_table::print(root)?, check)
}

fn keep(path: &Path, text: &str, check: bool) -> Outcome {
    if check {
        let present = fs::read_to_string(path).unwrap_or_default();
        if present != text {
            return Err(format!("{} is out of date: run `cargo xtask tables`", path.display()).into());
        }
    } else {
        fs::create_dir_all(path.parent().ok_or("no parent")?)?;
        fs::write(path, text)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

fn module_dir(version: &str) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let out = Command::new("go")
        .args([
            "mod",
            "download",
            "-json",
            &format!("k8s.io/kubernetes@{version}"),
        ])
        .env("GOWORK", "off")
        .current_dir(std::env::temp_dir())
        .output()
        .map_err(|e| format!("cannot run `go`, which downloads the API description: {e}"))?;
    let answer: Value = serde_json::from_slice(&out.stdout)?;
    match answer["Dir"].as_str() {
        Some(dir) => Ok(dir.into()),
        None => Err(format!(
            "`go mod download` of k8s.io/kubernetes {version} failed: {}",
            answer["Error"]
        )
        .into()),
    }
}

fn read_json(path: &Path) -> Result<Value, Box<dyn std::error::Error>> {
    let text = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(serde_json::from_slice(&text)?)
}

type Definitions = serde_json::Map<String, Value>;

/// Returns one line per resource and, indented below it, per subresource.
fn kinds(discovery: &Path, definitions: &Definitions) -> Result<String, Box<dyn std::error::Error>> {
    let by_kind = definition_by_kind(definitions);
    let mut groups: Vec<(String, Vec<String>)> = vec![(String::new(), vec!["v1".into()])];
    for group in read_json(&discovery.join("aggregated_v2.json"))?["items"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let versions = group["versions"].as_array().into_iter().flatten();
        groups.push((
            text(&group["metadata"]["name"]),
            versions.map(|v| text(&v["version"])).collect(),
        ));
    }
    let mut out = String::from(
        "# group version plural singular Kind scope verbs type [short=..] [cat=..] [hash=..]\n\
         #   subresource group/version/Kind verbs\n",
    );
    for (group, versions) in &groups {
        for version in versions {
            let file = match group.as_str() {
                "" => format!("api__{version}.json"),
                _ => format!("apis__{group}__{version}.json"),
            };
            let document = read_json(&discovery.join(file))?;
            let mut seen = BTreeSet::new();
            for resource in document["resources"].as_array().into_iter().flatten() {
                let name = text(&resource["name"]);
                let kind_group = resource["group"].as_str().unwrap_or(group);
                let kind_version = resource["version"].as_str().unwrap_or(version);
                let kind = text(&resource["kind"]);
                let verbs = joined(&resource["verbs"]);
                if let Some((parent, sub)) = name.split_once('/') {
                    if !seen.contains(parent) {
                        return Err(format!("{group}/{version}: {name} comes before its resource").into());
                    }
                    writeln!(out, "  {sub} {}/{kind_version}/{kind} {verbs}", dash(kind_group))?;
                    continue;
                }
                let definition = by_kind.get(&(group.clone(), version.clone(), kind.clone()));
                write!(
                    out,
                    "{} {version} {name} {} {kind} {} {verbs} {}",
                    dash(group),
                    dash(&text(&resource["singularName"])),
                    if resource["namespaced"] == true {
                        "namespaced"
                    } else {
                        "cluster"
                    },
                    definition.map_or("-", |d| d.as_str()),
                )?;
                for (label, value) in [
                    ("short", joined(&resource["shortNames"])),
                    ("cat", joined(&resource["categories"])),
                    ("hash", text(&resource["storageVersionHash"])),
                ] {
                    if !value.is_empty() {
                        write!(out, " {label}={value}")?;
                    }
                }
                out.push('\n');
                seen.insert(name);
            }
        }
    }
    Ok(out)
}

fn definition_by_kind(definitions: &Definitions) -> BTreeMap<(String, String, String), String> {
    let mut found = BTreeMap::new();
    for (name, definition) in definitions {
        let gvks = definition["x-kubernetes-group-version-kind"].as_array();
        // Types of many kinds (DeleteOptions, WatchEvent) define none of them.
        if let Some([gvk]) = gvks.map(Vec::as_slice) {
            found.insert(
                (text(&gvk["group"]), text(&gvk["version"]), text(&gvk["kind"])),
                name.clone(),
            );
        }
    }
    found
}

/// The default of a field, by type and field name.
type Defaults = BTreeMap<(String, String), String>;

/// Returns the defaults that only the OpenAPI v3 documents contain. An empty one (`{}`, `""`, `0`) means that
/// the field is always present, because Go stores it by value: it becomes `present`.
fn defaults(folder: &Path) -> Result<Defaults, Box<dyn std::error::Error>> {
    let mut found = Defaults::new();
    for entry in fs::read_dir(folder)? {
        let document = read_json(&entry?.path())?;
        for (name, definition) in document["components"]["schemas"]
            .as_object()
            .into_iter()
            .flatten()
        {
            for (field, schema) in definition["properties"].as_object().into_iter().flatten() {
                let default = &schema["default"];
                let attribute = match default {
                    Value::Null | Value::Array(_) => continue,
                    Value::Object(_) => " present".to_owned(),
                    empty if *empty == "" || *empty == 0 => " present".to_owned(),
                    _ => format!(" default={default}"),
                };
                found.insert((name.clone(), field.clone()), attribute);
            }
        }
    }
    Ok(found)
}

/// Returns one line per type and, indented below it, per field: `name[!] type [attributes]`.
fn types(definitions: &Definitions, defaults: &Defaults) -> Result<String, Box<dyn std::error::Error>> {
    let mut out = String::from(
        "# type NAME [atomic] | type NAME = TYPE\n\
         #  field[!] TYPE [patch=STRATEGY] [mergekey=KEY] [list=atomic|set|map] [keys=A,B] [atomic] [present] [default=JSON]\n\
         # TYPE: string bool int32 int64 double bytes time int-or-string any @NAME []TYPE {}TYPE; `!` marks a required field\n",
    );
    for (name, definition) in definitions {
        write!(out, "type {name}")?;
        let Some(properties) = definition["properties"].as_object() else {
            writeln!(out, " = {}", alias(name, definition)?)?;
            continue;
        };
        if definition["x-kubernetes-map-type"] == "atomic" {
            out.push_str(" atomic");
        }
        out.push('\n');
        let required: BTreeSet<&str> = definition["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (field, schema) in properties {
            let mark = if required.contains(field.as_str()) {
                "!"
            } else {
                ""
            };
            write!(out, " {field}{mark} {}", type_of(schema)?)?;
            for (label, key) in [
                ("patch", "x-kubernetes-patch-strategy"),
                ("mergekey", "x-kubernetes-patch-merge-key"),
                ("list", "x-kubernetes-list-type"),
            ] {
                if let Some(value) = schema[key].as_str() {
                    write!(out, " {label}={value}")?;
                }
            }
            if schema["x-kubernetes-list-map-keys"].is_array() {
                write!(out, " keys={}", joined(&schema["x-kubernetes-list-map-keys"]))?;
            }
            if schema["x-kubernetes-map-type"] == "atomic" {
                out.push_str(" atomic");
            }
            if let Some(attribute) = defaults.get(&(name.clone(), field.clone())) {
                out.push_str(attribute);
            }
            out.push('\n');
        }
    }
    Ok(out)
}

fn alias(name: &str, definition: &Value) -> Result<String, Box<dyn std::error::Error>> {
    if name.ends_with(".Quantity") {
        return Ok("quantity".into());
    }
    if definition["type"] == "object" || definition["type"].is_null() {
        let empty_struct = [
            "StorageVersionSpec",
            "BasicSchedulingPolicy",
            "CustomResourceSubresourceStatus",
        ];
        let is_struct = empty_struct.iter().any(|s| name.ends_with(s));
        return Ok(if is_struct { "struct".into() } else { "any".into() });
    }
    type_of(definition)
}

fn type_of(schema: &Value) -> Result<String, Box<dyn std::error::Error>> {
    if let Some(reference) = schema["$ref"].as_str() {
        return Ok(format!("@{}", reference.trim_start_matches("#/definitions/")));
    }
    Ok(match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("string"), Some("byte")) => "bytes".into(),
        (Some("string"), Some("date-time")) => "time".into(),
        (Some("string"), Some("int-or-string")) => "int-or-string".into(),
        (Some("string"), None) => "string".into(),
        (Some("boolean"), _) => "bool".into(),
        (Some("integer"), Some(format @ ("int32" | "int64"))) => format.into(),
        (Some("number"), _) => "double".into(),
        (Some("array"), _) => format!("[]{}", type_of(&schema["items"])?),
        (Some("object"), _) if schema["additionalProperties"].is_object() => {
            format!("{{}}{}", type_of(&schema["additionalProperties"])?)
        }
        (Some("object"), _) => "any".into(),
        other => return Err(format!("unsupported schema {other:?} in {schema}").into()),
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().into()
}

fn joined(value: &Value) -> String {
    let words: Vec<&str> = value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    words.join(",")
}

fn dash(word: &str) -> &str {
    if word.is_empty() { "-" } else { word }
}
