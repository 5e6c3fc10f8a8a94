//! Paths, operations and their parameters.

use serde_json::{Map, Value, json};

use super::schemas::Schemas;
use super::{OpenApiVersion, ResourceDoc, SubresourceDoc, names};

/// The kind of an operation, as in `x-kubernetes-action`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OperationKind {
    List,
    Create,
    DeleteCollection,
    Get,
    Replace,
    Patch,
    Delete,
}

impl OperationKind {
    /// Returns the verb of the resource, the method, the name of the action, and the prefix of operation ids.
    fn words(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            OperationKind::List => ("list", "get", "list", "list"),
            OperationKind::Create => ("create", "post", "post", "create"),
            OperationKind::DeleteCollection => (
                "deletecollection",
                "delete",
                "deletecollection",
                "deleteCollection",
            ),
            OperationKind::Get => ("get", "get", "get", "read"),
            OperationKind::Replace => ("update", "put", "put", "replace"),
            OperationKind::Patch => ("patch", "patch", "patch", "patch"),
            OperationKind::Delete => ("delete", "delete", "delete", "delete"),
        }
    }

    fn parameters(self) -> &'static [(&'static str, &'static str)] {
        const SELECT: &[(&str, &str)] = &[
            ("allowWatchBookmarks", "boolean"),
            ("continue", "string"),
            ("fieldSelector", "string"),
            ("labelSelector", "string"),
            ("limit", "integer"),
            ("resourceVersion", "string"),
            ("resourceVersionMatch", "string"),
            ("sendInitialEvents", "boolean"),
            ("shardSelector", "string"),
            ("timeoutSeconds", "integer"),
            ("watch", "boolean"),
        ];
        const WRITE: &[(&str, &str)] = &[
            ("dryRun", "string"),
            ("fieldManager", "string"),
            ("fieldValidation", "string"),
        ];
        match self {
            OperationKind::List => SELECT,
            OperationKind::Create | OperationKind::Replace => WRITE,
            OperationKind::Get => &[],
            OperationKind::Patch => &[
                ("dryRun", "string"),
                ("fieldManager", "string"),
                ("fieldValidation", "string"),
                ("force", "boolean"),
            ],
            OperationKind::Delete => &[
                ("dryRun", "string"),
                ("gracePeriodSeconds", "integer"),
                ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
                ("orphanDependents", "boolean"),
                ("propagationPolicy", "string"),
            ],
            OperationKind::DeleteCollection => &[
                ("continue", "string"),
                ("dryRun", "string"),
                ("fieldSelector", "string"),
                ("gracePeriodSeconds", "integer"),
                ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
                ("labelSelector", "string"),
                ("limit", "integer"),
                ("orphanDependents", "boolean"),
                ("propagationPolicy", "string"),
                ("resourceVersion", "string"),
                ("resourceVersionMatch", "string"),
                ("sendInitialEvents", "boolean"),
                ("shardSelector", "string"),
                ("timeoutSeconds", "integer"),
            ],
        }
    }
}

/// Returns whether a deletion responds with the deleted object. Those of most kinds respond with a `Status`.
fn responds_with_object(resource: &ResourceDoc<'_>) -> bool {
    match resource.group {
        "" => matches!(
            resource.plural,
            "persistentvolumeclaims"
                | "persistentvolumes"
                | "pods"
                | "podtemplates"
                | "resourcequotas"
                | "serviceaccounts"
                | "services"
        ),
        "resource.k8s.io" => matches!(
            resource.plural,
            "deviceclasses" | "resourceclaims" | "resourceclaimtemplates" | "resourceslices"
        ),
        "storage.k8s.io" => matches!(
            resource.plural,
            "csidrivers" | "csinodes" | "storageclasses" | "volumeattachments" | "volumeattributesclasses"
        ),
        _ => false,
    }
}

/// Adds the path that lists the resources of a group version.
pub(super) fn add_root(
    paths: &mut Map<String, Value>,
    group: &str,
    version: &str,
    schemas: &mut Schemas<'_>,
) {
    let root = match group {
        "" => format!("/api/{version}/"),
        group => format!("/apis/{group}/{version}/"),
    };
    let list = schemas.meta("APIResourceList");
    let media = [
        "application/json",
        "application/vnd.kubernetes.protobuf",
        "application/yaml",
    ];
    let content: Map<String, Value> = media
        .iter()
        .map(|m| ((*m).to_owned(), json!({ "schema": list })))
        .collect();
    let operation = json!({
        "tags": [names::tag(group, version)],
        "operationId": format!("get{}APIResources", names::operation_part(group, version)),
        "responses": {
            "200": { "description": "OK", "content": content },
            "401": { "description": "Unauthorized" },
        },
    });
    paths.insert(root, json!({ "get": operation }));
}

/// Adds the paths of a resource and its subresources.
pub(super) fn add(
    paths: &mut Map<String, Value>,
    flavor: OpenApiVersion,
    resource: &ResourceDoc<'_>,
    schemas: &mut Schemas<'_>,
) {
    let root = match resource.group {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    let scope = if resource.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{root}{scope}/{}", resource.plural);
    let item = format!("{collection}/{{name}}");
    let mut documents = Documents {
        flavor,
        resource,
        schemas,
    };
    documents.path(
        paths,
        &collection,
        &[
            OperationKind::List,
            OperationKind::Create,
            OperationKind::DeleteCollection,
        ],
    );
    documents.path(
        paths,
        &item,
        &[
            OperationKind::Get,
            OperationKind::Replace,
            OperationKind::Patch,
            OperationKind::Delete,
        ],
    );
    if resource.namespaced && resource.verbs.contains(&"list") {
        let everywhere = format!("{root}/{}", resource.plural);
        let operation = documents.operation(OperationKind::List, None, true);
        let parameters = documents.path_parameters(&everywhere);
        paths.insert(everywhere, json!({ "get": operation, "parameters": parameters }));
    }
    for subresource in &resource.subresources {
        documents.subresource(paths, &item, subresource);
    }
}

struct Documents<'d, 'r, 't> {
    flavor: OpenApiVersion,
    resource: &'d ResourceDoc<'r>,
    schemas: &'d mut Schemas<'t>,
}

impl Documents<'_, '_, '_> {
    fn path(&mut self, paths: &mut Map<String, Value>, path: &str, actions: &[OperationKind]) {
        let mut operations = Map::new();
        for action in actions {
            let (verb, method, ..) = action.words();
            if self.resource.verbs.contains(&verb) {
                operations.insert(method.to_owned(), self.operation(*action, None, false));
            }
        }
        if !operations.is_empty() {
            operations.insert("parameters".to_owned(), self.path_parameters(path));
            paths.insert(path.to_owned(), operations.into());
        }
    }

    fn subresource(&mut self, paths: &mut Map<String, Value>, item: &str, subresource: &SubresourceDoc<'_>) {
        let path = format!("{item}/{}", subresource.name);
        let mut operations = Map::new();
        for action in [
            OperationKind::Get,
            OperationKind::Create,
            OperationKind::Replace,
            OperationKind::Patch,
            OperationKind::Delete,
        ] {
            let (verb, method, ..) = action.words();
            if subresource.verbs.contains(&verb) {
                let operation = if subresource.kind.ends_with("Options") {
                    self.connection(method, subresource)
                } else {
                    self.operation(action, Some(subresource), false)
                };
                operations.insert(method.to_owned(), operation);
            }
        }
        operations.insert("parameters".to_owned(), self.path_parameters(&path));
        paths.insert(path, operations.into());
    }

    /// Returns an operation that connects a client to something behind the resource.
    fn connection(&self, method: &str, subresource: &SubresourceDoc<'_>) -> Value {
        let resource = self.resource;
        let part = names::operation_part(resource.group, resource.version);
        let method = names::capitalize(method);
        let scope = if resource.namespaced { "Namespaced" } else { "" };
        let tail = names::capitalize(subresource.name);
        let mut operation = json!({
            "tags": [names::tag(resource.group, resource.version)],
            "operationId": format!("connect{part}{method}{scope}{}{tail}", resource.kind),
            "x-kubernetes-action": "connect",
            "x-kubernetes-group-version-kind": {
                "group": subresource.group,
                "version": subresource.version,
                "kind": subresource.kind,
            },
        });
        let text = json!({ "type": "string" });
        let answer = match self.flavor {
            OpenApiVersion::V2 => json!({ "description": "OK", "schema": text }),
            OpenApiVersion::V3 => json!({ "description": "OK", "content": { "*/*": { "schema": text } } }),
        };
        operation["responses"] = json!({ "200": answer, "401": { "description": "Unauthorized" } });
        operation
    }

    /// Returns the parameters of all operations of a path.
    fn path_parameters(&self, path: &str) -> Value {
        let in_path = ["name", "namespace"]
            .into_iter()
            .filter(|name| path.contains(&format!("{{{name}}}")));
        let mut parameters: Vec<Value> = in_path
            .map(|name| {
                let mut parameter = self.parameter(name, "path", "string");
                parameter["required"] = true.into();
                parameter
            })
            .collect();
        parameters.push(self.parameter("pretty", "query", "string"));
        parameters.into()
    }

    fn parameter(&self, name: &str, place: &str, kind: &str) -> Value {
        match self.flavor {
            OpenApiVersion::V2 => json!({ "name": name, "in": place, "type": kind, "uniqueItems": true }),
            OpenApiVersion::V3 => {
                json!({ "name": name, "in": place, "schema": { "type": kind, "uniqueItems": true } })
            }
        }
    }

    fn operation(
        &mut self,
        action: OperationKind,
        subresource: Option<&SubresourceDoc<'_>>,
        everywhere: bool,
    ) -> Value {
        let resource = self.resource;
        let (group, version, kind) = match subresource {
            Some(sub) => (sub.group, sub.version, sub.kind),
            None => (resource.group, resource.version, resource.kind),
        };
        let answer = match (action, subresource) {
            (OperationKind::List, _) => self.schemas.list(resource),
            (OperationKind::DeleteCollection, None) => self.schemas.meta("Status"),
            (OperationKind::Delete, None) if !responds_with_object(resource) => self.schemas.meta("Status"),
            (_, Some(sub)) if sub.name == "log" => json!({ "type": "string" }),
            (_, Some(sub)) if (sub.group, sub.kind) != (resource.group, resource.kind) => {
                self.schemas.kind(group, version, kind)
            }
            _ => self.schemas.resource(resource),
        };
        let (_, _, name, _) = action.words();
        let mut operation = json!({
            "tags": [names::tag(resource.group, resource.version)],
            "operationId": self.operation_id(action, subresource, everywhere),
            "x-kubernetes-action": name,
            "x-kubernetes-group-version-kind": { "group": group, "version": version, "kind": kind },
        });
        let parameters = action
            .parameters()
            .iter()
            .map(|(name, kind)| self.parameter(name, "query", kind));
        let mut parameters: Vec<Value> = parameters.collect();
        let body = match action {
            OperationKind::Create | OperationKind::Replace => Some(answer.clone()),
            OperationKind::Patch => Some(self.schemas.meta("Patch")),
            OperationKind::Delete | OperationKind::DeleteCollection => {
                Some(self.schemas.meta("DeleteOptions"))
            }
            OperationKind::List | OperationKind::Get => None,
        };
        if let Some(body) = body {
            self.add_body(&mut operation, &mut parameters, action, &body);
        }
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        operation["responses"] = self.responses(action, &answer);
        operation
    }

    fn operation_id(
        &self,
        action: OperationKind,
        subresource: Option<&SubresourceDoc<'_>>,
        everywhere: bool,
    ) -> String {
        let resource = self.resource;
        let (_, _, _, prefix) = action.words();
        let (prefix, collection) = match action {
            OperationKind::DeleteCollection => ("delete", "Collection"),
            _ => (prefix, ""),
        };
        let part = names::operation_part(resource.group, resource.version);
        let scope = if resource.namespaced && !everywhere {
            "Namespaced"
        } else {
            ""
        };
        let tail = match subresource {
            Some(sub) => names::capitalize(sub.name),
            None if everywhere => "ForAllNamespaces".to_owned(),
            None => String::new(),
        };
        format!("{prefix}{part}{collection}{scope}{}{tail}", resource.kind)
    }

    fn add_body(
        &self,
        operation: &mut Value,
        parameters: &mut Vec<Value>,
        action: OperationKind,
        body: &Value,
    ) {
        let media: &[&str] = match (action, self.resource.schema.is_some()) {
            (OperationKind::Patch, true) => &[
                "application/apply-patch+yaml",
                "application/json-patch+json",
                "application/merge-patch+json",
            ],
            (OperationKind::Patch, false) => &[
                "application/apply-patch+yaml",
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/strategic-merge-patch+json",
            ],
            (_, false) => &["*/*"],
            (_, true) => &["application/json", "application/yaml"],
        };
        let required = !matches!(action, OperationKind::Delete | OperationKind::DeleteCollection);
        match self.flavor {
            OpenApiVersion::V2 => {
                operation["consumes"] = media.into();
                let mut parameter = json!({ "name": "body", "in": "body", "schema": body });
                if required {
                    parameter["required"] = true.into();
                }
                parameters.insert(0, parameter);
            }
            OpenApiVersion::V3 => {
                let content: Map<String, Value> = media
                    .iter()
                    .map(|m| ((*m).to_owned(), json!({ "schema": body })))
                    .collect();
                operation["requestBody"] = json!({ "content": content });
                if required {
                    operation["requestBody"]["required"] = true.into();
                }
            }
        }
    }

    fn responses(&self, action: OperationKind, answer: &Value) -> Value {
        let codes: &[(&str, &str)] = match action {
            OperationKind::Create => &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
            OperationKind::Replace | OperationKind::Patch => &[("200", "OK"), ("201", "Created")],
            OperationKind::Delete => &[("200", "OK"), ("202", "Accepted")],
            OperationKind::List | OperationKind::Get | OperationKind::DeleteCollection => &[("200", "OK")],
        };
        let mut responses = Map::new();
        for (code, description) in codes {
            let response = match self.flavor {
                OpenApiVersion::V2 => json!({ "description": description, "schema": answer }),
                OpenApiVersion::V3 => {
                    json!({ "description": description, "content": self.content(action, answer) })
                }
            };
            responses.insert((*code).to_owned(), response);
        }
        responses.insert("401".to_owned(), json!({ "description": "Unauthorized" }));
        responses.into()
    }

    fn content(&self, action: OperationKind, answer: &Value) -> Value {
        let media: &[&str] = match self.resource.schema {
            Some(_) => &["application/json", "application/yaml"],
            None if action == OperationKind::List => &[
                "application/json",
                "application/json;stream=watch",
                "application/vnd.kubernetes.protobuf",
                "application/vnd.kubernetes.protobuf;stream=watch",
                "application/yaml",
            ],
            None => &[
                "application/json",
                "application/vnd.kubernetes.protobuf",
                "application/yaml",
            ],
        };
        let content: Map<String, Value> = media
            .iter()
            .map(|m| ((*m).to_owned(), json!({ "schema": answer })))
            .collect();
        content.into()
    }
}
