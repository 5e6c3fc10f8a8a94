//! A resource in one version, for example `deployments` in `apps/v1`.

use std::sync::Arc;

use serde_json::Value;

use crate::crd::CustomKind;
use crate::schema::{Type, TypeId, Types};
use crate::select::{SelectableFields, UnknownFieldMessage};
use crate::status::Subject;
use crate::store::CollectionId;

/// A resource in one version.
#[derive(Debug)]
pub(crate) struct Resource {
    /// Empty for the core group.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<String>,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) storage_version_hash: String,
    pub(crate) subresources: Vec<Subresource>,
    /// The collection of its objects, which all versions of the resource share.
    pub(crate) collection: CollectionId,
    /// Group and version of the stored objects.
    pub(crate) stored_as: String,
    /// Selectable fields, as paths in the stored object.
    pub(crate) selectable: Vec<String>,
    pub(crate) schema: ObjectSchema,
    /// Warning for its clients, if it is deprecated.
    pub(crate) deprecation: Option<String>,
}

/// A subresource, for example `status` or `scale`.
#[derive(Debug, Clone)]
pub(crate) struct Subresource {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) verbs: Vec<String>,
}

/// The definition of a resource's objects.
#[derive(Debug, Clone)]
pub(crate) enum ObjectSchema {
    /// Built in; `None` for the few kinds without a published type.
    BuiltIn(Option<TypeId>),
    /// A CustomResourceDefinition.
    Custom(Arc<CustomKind>),
}

impl Resource {
    /// Returns for example `v1` or `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        group_version(&self.group, &self.version)
    }

    /// Returns whether objects are stored in this version.
    ///
    /// Called for every object of a list and every event of a watch.
    pub(crate) fn is_stored_version(&self) -> bool {
        let (group, version) = self.stored_as.rsplit_once('/').unwrap_or(("", &self.stored_as));
        group == self.group && version == self.version
    }

    pub(crate) fn subject<'a>(&'a self, name: &'a str) -> Subject<'a> {
        Subject {
            group: &self.group,
            resource: &self.plural,
            name,
        }
    }

    pub(crate) fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|v| v == verb)
    }

    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }

    pub(crate) fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Returns whether the objects are of this group and kind.
    pub(crate) fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// Returns the types of the objects, for patches, apply and decoding.
    pub(crate) fn types(&self) -> Option<(&Types, Type)> {
        match &self.schema {
            ObjectSchema::BuiltIn(id) => Some((Types::builtin(), Type::Ref((*id)?))),
            ObjectSchema::Custom(custom) => {
                let version = custom.version(&self.version)?;
                Some((&version.types, version.root.clone()))
            }
        }
    }

    pub(crate) fn custom(&self) -> Option<&Arc<CustomKind>> {
        match &self.schema {
            ObjectSchema::Custom(custom) => Some(custom),
            ObjectSchema::BuiltIn(_) => None,
        }
    }

    /// Returns the hash of the storage version and its schema for custom kinds, and 0 for built-in kinds.
    pub(crate) fn schema_hash(&self) -> u64 {
        let version = self.custom().and_then(|custom| custom.storage_version());
        version.map_or(0, |version| version.schema_hash)
    }

    /// Returns the fields that selectors of this resource can use.
    pub(crate) fn selectable(&self) -> SelectableFields<'_> {
        let label = match (self.group.as_str(), self.kind.as_str()) {
            (_, "Pod" | "Node" | "ReplicationController" | "Event" | "Namespace" | "Secret" | "Service")
                if self.group.is_empty() =>
            {
                UnknownFieldMessage::Short
            }
            ("apps", "ReplicaSet") | ("certificates.k8s.io" | "events.k8s.io", _) | ("batch", "Job") => {
                UnknownFieldMessage::Short
            }
            ("resource.k8s.io", "ResourceSlice") => {
                UnknownFieldMessage::Kind(format!("{}, Kind={}", self.api_version(), self.kind))
            }
            _ => UnknownFieldMessage::Plain,
        };
        SelectableFields {
            fields: &self.selectable,
            namespaced: self.namespaced,
            label,
        }
    }

    /// Returns the values of the selectable fields of a stored object.
    pub(crate) fn selectable_values(&self, object: &Value) -> Box<[Box<str>]> {
        self.selectable
            .iter()
            .map(|path| selectable_value(path, object).into())
            .collect()
    }
}

/// Returns for example `v1` or `apps/v1`.
pub(crate) fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// Returns the selectable fields of a built-in kind, except name and namespace.
pub(super) fn builtin_selectable(group: &str, kind: &str) -> &'static [&'static str] {
    match (group, kind) {
        ("", "Pod") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        ("", "Node") => &["spec.unschedulable"],
        ("", "ReplicationController") | ("apps", "ReplicaSet") => &["status.replicas"],
        ("", "Event") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        // In the order of the core group's fields, because the stored objects are the same.
        ("events.k8s.io", "Event") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "",
            "type",
        ],
        ("", "Namespace") => &["status.phase"],
        ("", "Secret") => &["type"],
        ("", "Service") => &["spec.clusterIP", "spec.type"],
        ("batch", "Job") => &["status.successful"],
        ("certificates.k8s.io", "CertificateSigningRequest" | "ClusterTrustBundle") => &["spec.signerName"],
        ("certificates.k8s.io", "PodCertificateRequest") => {
            &["spec.signerName", "spec.podName", "spec.nodeName"]
        }
        ("resource.k8s.io", "ResourceSlice") => &["spec.nodeName", "spec.driver"],
        _ => &[],
    }
}

fn selectable_value(path: &str, object: &Value) -> String {
    let found = match path {
        "status.successful" => &object["status"]["succeeded"],
        "source" => &object["source"]["component"],
        "spec.hostNetwork" => &object["spec"]["hostNetwork"],
        "status.podIPs" => &object["status"]["podIPs"][0]["ip"],
        "reportingController" => &object["reportingComponent"],
        _ => match path.strip_prefix("regarding.") {
            Some(field) => &object["involvedObject"][field],
            None => path.split('.').fold(object, |at, name| &at[name]),
        },
    };
    match found {
        Value::String(text) => text.clone(),
        Value::Null => match path {
            "spec.unschedulable" | "spec.hostNetwork" => "false".into(),
            "status.replicas" | "status.successful" => "0".into(),
            _ => String::new(),
        },
        other => other.to_string(),
    }
}
