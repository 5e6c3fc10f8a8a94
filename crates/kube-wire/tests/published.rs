//! Test data published by Kubernetes: every kind with every field set, in JSON and in protobuf.
//!
//! The files are part of the Go module `k8s.io/api`, so these tests need Go. `cargo xtask test` runs them if Go is
//! installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod, Secret, Service};
use kube_wire::FieldMask;
use kube_wire::protobuf::{Envelope, Error, Schema, decode, decode_message, encode, encode_message};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const MODULE: &str = "k8s.io/api@v0.37.2";

/// The only message without apiVersion and kind. Kubernetes sends it without an envelope.
const WATCH_EVENT: &str = "k8s.io.apimachinery.pkg.apis.meta.v1.WatchEvent";

#[test]
#[ignore = "needs Go: cargo xtask test"]
fn decodes_published_objects() {
    for_each(&["HEAD"], |object| {
        let found = object.read(&object.protobuf).map_err(|error| error.to_string())?;
        check_equal(&found, &object.json)
    });
}

#[test]
#[ignore = "needs Go: cargo xtask test"]
fn decodes_published_objects_into_types() {
    for_each(&["HEAD", "v1.36.0", "v1.35.0", "v1.34.0"], |object| {
        let envelope = Envelope::parse(&object.protobuf).map_err(|error| error.to_string())?;
        let Some(schema) = Schema::of(envelope.api_version, envelope.kind) else {
            // Kinds without a group, or removed from Kubernetes.
            return Ok(());
        };
        let found: Value = schema
            .decode(envelope.raw, &FieldMask::none())
            .map_err(|error| error.to_string())?;
        check_equal(&found, &object.json)?;
        match schema.kind() {
            "Pod" => same_type::<Pod>(schema, envelope.raw, &object.json),
            "Deployment" if schema.api_version() == "apps/v1" => {
                same_type::<Deployment>(schema, envelope.raw, &object.json)
            }
            "Secret" => same_type::<Secret>(schema, envelope.raw, &object.json),
            "Service" => same_type::<Service>(schema, envelope.raw, &object.json),
            "Node" => same_type::<Node>(schema, envelope.raw, &object.json),
            _ => Ok(()),
        }
    });
}

fn same_type<K: DeserializeOwned + PartialEq>(
    schema: Schema,
    message: &[u8],
    json: &Value,
) -> Result<(), String> {
    let found: K = schema
        .decode(message, &FieldMask::none())
        .map_err(|error| error.to_string())?;
    let expected: K = serde_json::from_value(json.clone()).map_err(|error| error.to_string())?;
    if found == expected {
        Ok(())
    } else {
        Err("object differs from the one in JSON".to_owned())
    }
}

#[test]
#[ignore = "needs Go: cargo xtask test"]
fn decodes_objects_of_older_releases() {
    for_each(&["v1.36.0", "v1.35.0", "v1.34.0"], |object| {
        match object.read(&object.protobuf) {
            Ok(found) => check_equal(&found, &object.json),
            // Kubernetes has removed some kinds.
            Err(error) if error.is_unknown_kind() => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    });
}

#[test]
#[ignore = "needs Go: cargo xtask test"]
fn encodes_published_objects_to_the_same_bytes() {
    for_each(&["HEAD"], |object| {
        let bytes = object.encode().map_err(|error| error.to_string())?;
        if bytes == object.protobuf {
            return Ok(());
        }
        let again = object.read(&bytes).map_err(|error| error.to_string())?;
        check_equal(&again, &object.json)?;
        Err(format!(
            "different bytes ({} instead of {}) with the same meaning",
            bytes.len(),
            object.protobuf.len()
        ))
    });
}

struct Object {
    name: String,
    json: Value,
    protobuf: Vec<u8>,
}

impl Object {
    fn is_watch_event(&self) -> bool {
        self.name.ends_with(".WatchEvent")
    }

    fn read(&self, bytes: &[u8]) -> Result<Value, Error> {
        if self.is_watch_event() {
            return decode_message(WATCH_EVENT, Envelope::parse(bytes)?.raw);
        }
        decode(bytes)
    }

    fn encode(&self) -> Result<Vec<u8>, Error> {
        if self.is_watch_event() {
            let message = encode_message(WATCH_EVENT, &self.json)?;
            return Ok(Envelope::new("", "", &message).to_bytes());
        }
        encode(&self.json)
    }
}

/// Checks all objects of some releases and reports all failures.
fn for_each(releases: &[&str], check: impl Fn(&Object) -> Result<(), String>) {
    let module = module()
        .unwrap_or_else(|| panic!("`go mod download {MODULE}` did not download the published objects"));
    for release in releases {
        let objects = objects(&module.join("testdata").join(release));
        assert!(
            objects.len() > 100,
            "{release} has only {} objects",
            objects.len()
        );
        let wrong: Vec<String> = objects
            .iter()
            .filter_map(|object| check(object).err().map(|why| format!("{}: {why}", object.name)))
            .collect();
        assert!(
            wrong.is_empty(),
            "{release}: {} of {} failed:\n{}",
            wrong.len(),
            objects.len(),
            wrong.join("\n")
        );
    }
}

fn module() -> Option<PathBuf> {
    let output = Command::new("go")
        .args(["mod", "download", "-json", MODULE])
        .env("GOWORK", "off")
        .env("GO111MODULE", "on")
        .current_dir(env::temp_dir())
        .output()
        .ok()?;
    let answer: Value = serde_json::from_slice(&output.stdout).ok()?;
    answer["Dir"].as_str().map(PathBuf::from)
}

fn objects(folder: &Path) -> Vec<Object> {
    let mut objects = Vec::new();
    for entry in fs::read_dir(folder).expect("published release") {
        let path = entry.expect("readable folder").path();
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.extension().is_none_or(|extension| extension != "pb") || name.contains(".after_roundtrip") {
            continue;
        }
        let json = path.with_extension("json");
        objects.push(Object {
            name,
            json: serde_json::from_slice(&fs::read(json).expect("JSON file")).expect("valid JSON"),
            protobuf: fs::read(path).expect("readable file"),
        });
    }
    objects
}

fn check_equal(found: &Value, expected: &Value) -> Result<(), String> {
    let mut differences = Vec::new();
    compare("", found, expected, &mut differences);
    if differences.is_empty() {
        Ok(())
    } else {
        Err(differences.join("; "))
    }
}

fn compare(path: &str, found: &Value, expected: &Value, differences: &mut Vec<String>) {
    match (found, expected) {
        (Value::Object(a), Value::Object(b)) => {
            let absent = Value::String("(absent)".into());
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                // An empty list or object that only another release has.
                if !b.contains_key(key) && [json!(null), json!({})].contains(&a[key]) {
                    continue;
                }
                let (a, b) = (a.get(key).unwrap_or(&absent), b.get(key).unwrap_or(&absent));
                compare(&format!("{path}.{key}"), a, b, differences);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                compare(&format!("{path}[{index}]"), a, b, differences);
            }
        }
        _ if found == expected => {}
        _ => differences.push(format!("{path} is {found} instead of {expected}")),
    }
}
