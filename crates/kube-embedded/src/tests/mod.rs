//! Compares recorded responses of a real server with this one, step by step.
//!
//! The corpus is in `tests/corpus`; `capture.py` records the responses.

mod mutated;

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::defaults::admission::admit;
use crate::defaults::default;
use crate::defaults::fields::{object_at, remove};
use crate::defaults::prepare::{prepare_for_create, prepare_for_update};
use crate::schema::decode::{decode, strict_failure};
use crate::schema::strict::strict_problems;
use crate::schema::{Type, Types};
use crate::status::{FieldError, Status};
use crate::validation::{validate, validate_subresource};

const FILES: [(&str, &str); 5] = [
    ("core", include_str!("../../tests/corpus/core.json")),
    ("apps", include_str!("../../tests/corpus/apps.json")),
    ("batch", include_str!("../../tests/corpus/batch.json")),
    ("others", include_str!("../../tests/corpus/others.json")),
    ("decoding", include_str!("../../tests/corpus/decoding.json")),
];

/// Steps whose responses come from elsewhere or are known to differ, and why.
const DIFFERENT: &[(&str, usize, &str)] = &[
    ("bad metadata", 5, "the generated name is random"),
    ("bad metadata", 15, "the store refuses versions of new objects"),
    ("metadata on update", 2, "the store compares uids"),
    ("metadata on update", 8, "routing compares names"),
    ("status of the rest", 10, "versions of storage are not compared"),
    ("reviews", 0, "answered by the authorizer"),
    ("reviews", 1, "answered by the authorizer"),
    ("reviews", 2, "answered by the authorizer"),
    ("reviews", 3, "answered by the authorizer"),
    ("reviews", 4, "answered by the authenticator"),
    ("reviews", 5, "answered by the authenticator"),
];

/// Kinds without an accepted object: not stored or, for the last one, only created with a key's signature.
const NOT_CREATED: &[&str] = &["Binding", "ComponentStatus", "PodCertificateRequest"];

/// Steps with several errors that Go finds while iterating a map, in random order.
const UNORDERED: &[(&str, usize)] = &[
    ("more bad pods", 0),
    ("pod without anything", 9),
    ("bad metadata", 6),
    ("bad configmaps", 0),
    ("resourcequota", 3),
];

#[derive(Deserialize)]
struct Case {
    #[serde(rename = "case")]
    name: String,
    #[serde(default, rename = "fieldValidation")]
    field_validation: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    create: Option<Box<RawValue>>,
    /// An object as text, if it cannot be represented in the JSON of the corpus.
    raw: Option<String>,
    update: Option<Value>,
    status: Option<Value>,
    approval: Option<Value>,
    ephemeralcontainers: Option<Value>,
    resize: Option<Value>,
    before: Option<Value>,
    #[serde(default)]
    warnings: Vec<String>,
    code: u16,
    answer: Value,
}

struct CorpusKind {
    ty: Type,
    namespaced: bool,
}

fn kinds() -> HashMap<(String, String), CorpusKind> {
    let types = Types::builtin();
    let mut kinds = HashMap::new();
    for line in include_str!("../api/kinds.txt")
        .lines()
        .filter(|l| !l.starts_with(['#', ' ']))
    {
        let words: Vec<&str> = line.split(' ').collect();
        let group = if words[0] == "-" { "" } else { words[0] };
        let api_version = if group.is_empty() {
            words[1].to_owned()
        } else {
            format!("{group}/{}", words[1])
        };
        let id = types.find(words[7]).expect("a type for the kind");
        let kind = CorpusKind {
            ty: Type::Ref(id),
            namespaced: words[5] == "namespaced",
        };
        kinds.insert((api_version, words[4].to_owned()), kind);
    }
    kinds
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            remove(target, name);
        } else {
            merge(&mut target[name], value);
        }
    }
}

/// Replaces times of this run with one time.
fn times(value: &mut Value, today: &str) {
    match value {
        Value::String(text) if text.starts_with(today) => *text = "2026-01-01T00:00:00Z".to_owned(),
        Value::Array(items) => items.iter_mut().for_each(|v| times(v, today)),
        Value::Object(fields) => fields.values_mut().for_each(|v| times(v, today)),
        _ => {}
    }
}

/// Removes the fields that `capture.py` removes.
fn normalized(mut object: Value) -> Value {
    let today = jiff::Timestamp::now().strftime("%Y-%m-%dT").to_string();
    times(&mut object, &today);
    if object["kind"] != "Status" && object["metadata"].is_object() {
        for name in ["managedFields", "creationTimestamp", "resourceVersion"] {
            remove(&mut object["metadata"], name);
        }
    }
    if object["kind"] == "Service" && object["spec"].is_object() && object["spec"]["clusterIP"] != "None" {
        for name in ["clusterIP", "clusterIPs"] {
            remove(&mut object["spec"], name);
        }
    }
    if object["kind"] == "Service" {
        crate::defaults::fields::each_item(&mut object["spec"], "ports", |port| {
            remove(port, "nodePort");
        });
    }
    object
}

/// Returns whether two responses are equivalent.
///
/// The real server repeats causes that two of its checks find, and appends a diff of its internal types to the first
/// line of some. Both are ignored.
fn equivalent(ours: &Value, real: &Value, ordered: bool) -> bool {
    if ours["reason"] != "Invalid" || real["reason"] != "Invalid" {
        return ours == real;
    }
    let causes = |status: &Value| {
        let mut causes: Vec<String> = Vec::new();
        for cause in status["details"]["causes"].as_array().into_iter().flatten() {
            let message = cause["message"]
                .as_str()
                .unwrap_or("")
                .lines()
                .next()
                .unwrap_or("");
            let line = format!("{} {}: {message}", cause["reason"], cause["field"]);
            if !causes.contains(&line) {
                causes.push(line);
            }
        }
        if !ordered {
            causes.sort();
        }
        causes
    };
    let rest = |status: &Value| {
        let mut status = status.clone();
        let message = status["message"]
            .as_str()
            .unwrap_or("")
            .lines()
            .next()
            .unwrap_or("")
            .to_owned();
        status["message"] = if ordered { message.into() } else { Value::Null };
        remove(&mut status["details"], "causes");
        status
    };
    causes(ours) == causes(real) && rest(ours) == rest(real)
}

fn text_of(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap_or("").to_owned()
}

struct CaseRun<'a> {
    kinds: &'a HashMap<(String, String), CorpusKind>,
    strict: bool,
}

impl CaseRun<'_> {
    fn read(
        &self,
        object: Value,
        text: &str,
        expected: &Step,
    ) -> Result<(Value, String, String, String), Status> {
        let api_version = object["apiVersion"].as_str().unwrap_or("").to_owned();
        let kind_name = object["kind"].as_str().unwrap_or("").to_owned();
        let kind = &self.kinds[&(api_version.clone(), kind_name.clone())];
        let types = Types::builtin();
        let decoded = decode(types, &kind.ty, &kind_name, &api_version, object)?;
        let problems = strict_problems(types, &kind.ty, text);
        if !text.is_empty() {
            let unknown = problems.iter().filter(|p| p.starts_with("unknown")).count();
            assert_eq!(unknown, decoded.unknown.len(), "{problems:?}");
        }
        if self.strict && !problems.is_empty() {
            return Err(strict_failure(&kind_name, &api_version, &problems));
        }
        if !expected.warnings.is_empty() && expected.create.as_ref().is_some_and(|c| c.get() == text) {
            assert_eq!(expected.warnings, problems);
        }
        let again = decode(types, &kind.ty, &kind_name, &api_version, decoded.object.clone())?;
        assert_eq!(again.object, decoded.object, "decoding twice");
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
        Ok((decoded.object, group.to_owned(), version.to_owned(), kind_name))
    }

    fn validate(
        group: &str,
        version: &str,
        kind: &str,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        CaseRun::answer(group, kind, object, &validate(group, version, kind, object, old))
    }

    fn answer(group: &str, kind: &str, object: &Value, errors: &[FieldError]) -> Result<(), Status> {
        let name = object["metadata"]["name"].as_str().unwrap_or("");
        if errors.is_empty() {
            return Ok(());
        }
        // In the server, events of both groups are one kind.
        let group = if kind == "Event" { "" } else { group };
        Err(Status::invalid(group, kind, name, errors))
    }

    fn create(&self, text: &str, step: &Step) -> Result<Value, Status> {
        let object: Value = serde_json::from_str(text).expect("JSON");
        let (mut object, group, version, kind) = self.read(object, text, step)?;
        default(&group, &version, &kind, &mut object);
        let api_version = object["apiVersion"].as_str().unwrap_or("").to_owned();
        let metadata = object_at(&mut object, "metadata");
        if self.kinds[&(api_version, kind.clone())].namespaced {
            metadata["namespace"] = "default".into();
        }
        metadata["uid"] = "UID".into();
        admit(&group, &kind, &mut object);
        prepare_for_create(&group, &kind, &mut object);
        CaseRun::validate(&group, &version, &kind, &object, None)?;
        Ok(object)
    }

    fn update(
        &self,
        old: &Value,
        patch: &Value,
        subresource: Option<&str>,
        step: &Step,
    ) -> Result<Value, Status> {
        let mut object = old.clone();
        merge(&mut object, patch);
        let (mut object, group, version, kind) = self.read(object, "", step)?;
        default(&group, &version, &kind, &mut object);
        prepare_for_update(&group, &kind, old, &mut object, subresource);
        match subresource.filter(|s| *s != "status") {
            Some(subresource) => {
                let errors = validate_subresource(&group, &version, &kind, subresource, &object, old);
                CaseRun::answer(&group, &kind, &object, &errors)?;
            }
            None => CaseRun::validate(&group, &version, &kind, &object, Some(old))?,
        }
        Ok(object)
    }
}

#[test]
fn all_responses_are_those_of_the_real_server() {
    let kinds = kinds();
    let mut wrong = Vec::new();
    let mut covered = std::collections::HashSet::new();
    let mut count = 0;
    for (file, text) in FILES {
        let cases: Vec<Case> = serde_json::from_str(text).expect("a corpus file");
        for case in cases {
            let run = CaseRun {
                kinds: &kinds,
                strict: case.field_validation == "Strict",
            };
            let mut current = Value::Null;
            for (index, step) in case.steps.iter().enumerate() {
                let before = step.before.clone().unwrap_or_else(|| current.clone());
                let subresources = [
                    ("status", &step.status),
                    ("approval", &step.approval),
                    ("ephemeralcontainers", &step.ephemeralcontainers),
                    ("resize", &step.resize),
                ];
                let written = subresources
                    .into_iter()
                    .find_map(|(name, patch)| Some((name, patch.as_ref()?)));
                let ours = match (step, written) {
                    (_, Some((name, patch))) => run.update(&before, patch, Some(name), step),
                    (
                        Step {
                            create: Some(object), ..
                        },
                        _,
                    ) => run.create(object.get(), step),
                    (Step { raw: Some(text), .. }, _) => run.create(text, step),
                    (
                        Step {
                            update: Some(patch), ..
                        },
                        _,
                    ) => run.update(&before, patch, None, step),
                    _ => panic!("a step without a verb"),
                };
                let ours = normalized(ours.unwrap_or_else(|status| status.to_json()));
                if step.code < 300 {
                    covered.insert((text_of(&step.answer, "apiVersion"), text_of(&step.answer, "kind")));
                    current = step.answer.clone();
                }
                count += 1;
                let known = DIFFERENT.iter().any(|(c, i, _)| *c == case.name && *i == index);
                let ordered = !UNORDERED.iter().any(|(c, i)| *c == case.name && *i == index);
                let same = equivalent(&ours, &normalized(step.answer.clone()), ordered);
                if same == known {
                    let what = if known { "no longer differs" } else { "differs" };
                    wrong.push(format!(
                        "{file}: {} [{index}] {what}\n  ours: {ours}\n  real: {}",
                        case.name, step.answer
                    ));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} steps:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let uncovered: Vec<_> = kinds
        .keys()
        .filter(|kind| !covered.contains(*kind) && !NOT_CREATED.contains(&kind.1.as_str()))
        .collect();
    assert!(uncovered.is_empty(), "no accepted object of {uncovered:?}");
}
