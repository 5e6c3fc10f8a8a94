//! Patches. An input is, for each patch, a byte that selects the object, one for the language, one for the
//! options, and bytes that build the patch from meaningful words.

use form_urlencoded::Serializer;
use http::Request;
use kube::client::Body;
use serde_json::{Map, Value, json};

use super::request::send;
use super::world;
use crate::choices::Choices;

/// Maximum number of patches of an input.
const MOST: usize = 4;

const OBJECTS: [(&str, &str, &str); 8] = [
    ("/api/v1/namespaces/default/configmaps/a", "v1", "ConfigMap"),
    (
        "/apis/apps/v1/namespaces/default/deployments/d",
        "apps/v1",
        "Deployment",
    ),
    (
        "/apis/example.com/v1/namespaces/default/widgets/w",
        "example.com/v1",
        "Widget",
    ),
    ("/api/v1/namespaces/default/services/s", "v1", "Service"),
    ("/api/v1/namespaces/default/pods/p", "v1", "Pod"),
    (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com",
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
    ),
    (
        "/apis/apps/v1/namespaces/default/deployments/d/scale",
        "autoscaling/v1",
        "Scale",
    ),
    ("/api/v1/namespaces/default/configmaps/new", "v1", "ConfigMap"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Merge,
    Strategic,
    Json,
    Apply,
}

impl Language {
    const ALL: [Language; 4] = [
        Language::Merge,
        Language::Strategic,
        Language::Json,
        Language::Apply,
    ];

    fn media_type(self) -> &'static str {
        match self {
            Language::Merge => "application/merge-patch+json",
            Language::Strategic => "application/strategic-merge-patch+json",
            Language::Json => "application/json-patch+json",
            Language::Apply => "application/apply-patch+yaml",
        }
    }

    /// Returns whether the same patch changes nothing when it is sent again.
    fn is_idempotent(self) -> bool {
        matches!(self, Language::Merge | Language::Apply)
    }
}

/// Patches are accepted or refused, and leave objects valid. Where the language is idempotent, the second one
/// changes nothing.
pub(crate) fn patch(data: &[u8]) {
    let mut choices = Choices::of(data);
    world::with(async |world| {
        for _ in 0..MOST {
            if choices.is_over() {
                break;
            }
            let (path, api_version, kind) = choices.pick(&OBJECTS);
            let language = choices.pick(&Language::ALL);
            let options = choices.byte();
            let name = path
                .trim_end_matches("/scale")
                .rsplit('/')
                .next()
                .unwrap_or_default();
            let patch = document(
                &mut choices,
                language,
                json!({
                    "apiVersion": api_version, "kind": kind, "metadata": {"name": name},
                }),
            );
            let uri = format!("{path}?{}", query(options));
            let request = || {
                let request = Request::patch(&uri).header("content-type", language.media_type());
                request
                    .body(Body::from(patch.to_string().into_bytes()))
                    .expect("a request")
            };
            let first = send(world, request()).await;
            // Like in Kubernetes, each write to a scale adds an entry to the managed fields of its object.
            if !first.is_good() || !language.is_idempotent() || path.ends_with("/scale") {
                continue;
            }
            let before = world.server.resource_version();
            let second = send(world, request()).await;
            // A version or a uid in the patch was valid before, and the object may be deleted by now.
            let (first, second) = (first.json(), second.is_good().then(|| second.json()));
            if let Some(second) =
                second.filter(|second| second["metadata"]["uid"] == first["metadata"]["uid"])
            {
                let now = world.server.resource_version();
                assert_eq!(now, before, "{patch} changed {uri} twice: {first}\n{second}");
            }
        }
        world.assert_consistent().await;
    });
}

fn query(options: u8) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("fieldManager", if options & 1 == 0 { "one" } else { "two" });
    if options & 2 != 0 {
        query.append_pair("force", "true");
    }
    if options & 4 != 0 {
        query.append_pair("dryRun", "All");
    }
    match options >> 3 & 3 {
        1 => drop(query.append_pair("fieldValidation", "Strict")),
        2 => drop(query.append_pair("fieldValidation", "Ignore")),
        _ => {}
    }
    query.finish()
}

fn document(choices: &mut Choices<'_>, language: Language, named: Value) -> Value {
    if language == Language::Json {
        let count = choices.below(5);
        return (0..count).map(|_| operation(choices)).collect();
    }
    let mut document = object(choices, 4);
    if language == Language::Apply && !choices.byte().is_multiple_of(8) {
        let (Value::Object(fields), Value::Object(named)) = (&mut document, named) else {
            return document;
        };
        for (field, value) in named {
            match (fields.get_mut(&field), value) {
                (Some(Value::Object(there)), Value::Object(more)) => there.extend(more),
                (_, value) => drop(fields.insert(field, value)),
            }
        }
    }
    document
}

fn operation(choices: &mut Choices<'_>) -> Value {
    let path = |choices: &mut Choices<'_>| {
        let steps = 1 + choices.below(6);
        (0..steps).fold(String::new(), |path, _| path + "/" + choices.pick(&STEPS))
    };
    let mut operation = json!({
        "op": choices.pick(&["add", "replace", "remove", "test", "move", "copy", "", "jump"]),
        "path": path(choices),
    });
    match choices.below(4) {
        0 => {}
        1 => operation["from"] = path(choices).into(),
        _ => operation["value"] = value(choices, 3),
    }
    operation
}

const STEPS: [&str; 24] = [
    "metadata",
    "spec",
    "data",
    "a",
    "labels",
    "app",
    "annotations",
    "a.b~1c",
    "template",
    "containers",
    "0",
    "1",
    "-",
    "env",
    "name",
    "ports",
    "replicas",
    "status",
    "",
    "~0~1",
    "parts",
    "names",
    "free",
    "finalizers",
];

/// Names of fields, of map keys, and of directives of strategic patches.
const NAMES: [&str; 64] = [
    "metadata",
    "spec",
    "data",
    "status",
    "name",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "resourceVersion",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "namespace",
    "apiVersion",
    "kind",
    "template",
    "containers",
    "initContainers",
    "env",
    "value",
    "valueFrom",
    "ports",
    "containerPort",
    "port",
    "protocol",
    "targetPort",
    "image",
    "resources",
    "limits",
    "cpu",
    "memory",
    "tolerations",
    "key",
    "operator",
    "replicas",
    "selector",
    "matchLabels",
    "app",
    "strategy",
    "type",
    "rollingUpdate",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$setElementOrder/env",
    "$deleteFromPrimitiveList/finalizers",
    "$setElementOrder/ports",
    "size",
    "names",
    "parts",
    "id",
    "free",
    "versions",
    "schema",
    "openAPIV3Schema",
    "properties",
    "binaryData",
    "immutable",
    "volumes",
    "a",
    "b",
];

const TEXTS: [&str; 32] = [
    "",
    "a",
    "b",
    "c",
    "d",
    "w",
    "p",
    "1",
    "0",
    "delete",
    "replace",
    "merge",
    "default",
    "v1",
    "ConfigMap",
    "Deployment",
    "Widget",
    "Pod",
    "example.com/f",
    "foregroundDeletion",
    "orphan",
    "100m",
    "1Gi",
    "25%",
    "TCP",
    "Exists",
    "RollingUpdate",
    "Recreate",
    "2026-01-02T03:04:05Z",
    "widgets.example.com",
    "AAEC",
    "\u{e4}\u{0}",
];

fn object(choices: &mut Choices<'_>, depth: usize) -> Value {
    let count = choices.below(6);
    let field = |_| (choices.pick(&NAMES).to_owned(), value(choices, depth - 1));
    Value::Object((0..count).map(field).collect::<Map<_, _>>())
}

fn value(choices: &mut Choices<'_>, depth: usize) -> Value {
    match choices.below(if depth == 0 { 8 } else { 20 }) {
        0 => Value::Null,
        1 | 2 => json!(choices.byte()),
        3 => json!(choices.byte().is_multiple_of(2)),
        4 => choices
            .pick(
                &[
                    json!(-1),
                    json!(1.5),
                    json!(i64::MIN),
                    json!(u64::MAX),
                    json!(1e300),
                ]
                .each_ref(),
            )
            .clone(),
        5..=7 => json!(choices.pick(&TEXTS)),
        8..=11 => {
            let count = choices.below(4);
            (0..count).map(|_| value(choices, depth - 1)).collect()
        }
        _ => object(choices, depth),
    }
}
