//! Builds a `Table` from rows and columns.

use jiff::Timestamp;
use kube_table::{Column, Columns};
use serde_json::{Map, Value, json};

use crate::status::Status;

/// Annotation of the bookmark that ends a streaming list. Its row keeps the metadata with the annotation.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// The objects in rows: the `includeObject` parameter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

impl IncludeObject {
    /// Parses the query parameter.
    pub(crate) fn from_query(value: Option<&str>) -> Result<IncludeObject, Status> {
        match value {
            None | Some("" | "Metadata") => Ok(IncludeObject::Metadata),
            Some("None") => Ok(IncludeObject::None),
            Some("Object") => Ok(IncludeObject::Object),
            Some(other) => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', \
                 'Object', 'None', or empty"
            ))),
        }
    }
}

/// The columns of a kind, and the name of a built-in kind, because details depend on it.
#[derive(Debug, Clone)]
pub(crate) struct Printer<'a> {
    columns: Columns,
    /// Group, version and kind are empty for custom resources.
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

impl<'a> Printer<'a> {
    /// Returns `None` for kinds without tables in a kube-apiserver (406).
    pub(crate) fn built_in(group: &'a str, version: &'a str, kind: &'a str) -> Option<Printer<'a>> {
        let columns = Columns::built_in(group, version, kind)?;
        Some(Printer {
            columns,
            group,
            version,
            kind,
        })
    }

    /// Creates the printer of custom resources.
    pub(crate) fn custom(columns: Columns) -> Printer<'a> {
        Printer {
            columns,
            group: "",
            version: "",
            kind: "",
        }
    }

    fn is(&self, wanted: (&str, &str)) -> bool {
        (self.group, self.kind) == wanted
    }

    fn partial_metadata(&self, object: &Value, meta_version: &str) -> Value {
        partial_metadata(self.group, self.version, self.kind, object, meta_version)
    }
}

/// The tables of a request.
#[derive(Debug, Clone)]
pub(crate) struct TableBuilder<'a> {
    pub(crate) printer: Printer<'a>,
    pub(crate) include: IncludeObject,
    /// Requested version of `meta.k8s.io`: `v1` or `v1beta1`.
    pub(crate) meta_version: &'a str,
    pub(crate) now: Timestamp,
}

impl TableBuilder<'_> {
    /// Returns the table of a list. `metadata` is the list's, with resource version and, for pages, `continue` and
    /// `remainingItemCount`.
    pub(crate) fn list(&self, metadata: &Value, items: impl IntoIterator<Item = Value>) -> Value {
        // Makes rows one by one, because decoded objects take much more memory than their rows.
        let rows = items
            .into_iter()
            .map(|item| (self.sort_key(&item), self.row(&item)));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.table(metadata, true, rows.into_iter().map(|(_, row)| row).collect())
    }

    /// Returns the sort key of an object's row. Most lists keep the order of their objects.
    fn sort_key(&self, object: &Value) -> (i64, String) {
        if !self.printer.is(("flowcontrol.apiserver.k8s.io", "FlowSchema")) {
            return Default::default();
        }
        (
            object["spec"]["matchingPrecedence"].as_i64().unwrap_or_default(),
            object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        )
    }

    /// Returns the table of one object.
    pub(crate) fn single(&self, object: &Value) -> Value {
        self.one_row(object, true)
    }

    /// Returns the table of a watch event or bookmark. Only the first event of a watch has columns.
    pub(crate) fn event(&self, object: &Value, first: bool) -> Value {
        // The real server repeats the columns of APIServices.
        let headed = first || self.printer.is(("apiregistration.k8s.io", "APIService"));
        self.one_row(object, headed)
    }

    fn one_row(&self, object: &Value, headed: bool) -> Value {
        let mut metadata = Map::new();
        if let version @ Value::String(_) = &object["metadata"]["resourceVersion"] {
            metadata.insert("resourceVersion".into(), version.clone());
        }
        self.table(&metadata.into(), headed, vec![self.row(object)])
    }

    fn table(&self, metadata: &Value, headed: bool, rows: Vec<Value>) -> Value {
        let columns = if headed {
            self.printer
                .columns
                .definitions()
                .iter()
                .map(Column::to_json)
                .collect()
        } else {
            Value::Null
        };
        // A kube-apiserver sends `"rows": null` for empty lists of kinds with default columns.
        let rows = if rows.is_empty() && self.printer.columns.is_default() {
            Value::Null
        } else {
            rows.into()
        };
        let mut table = json!({
            "kind": "Table",
            "apiVersion": format!("meta.k8s.io/{}", self.meta_version),
            "metadata": metadata,
            "columnDefinitions": columns,
        });
        // The macro would copy the rows.
        table["rows"] = rows;
        table
    }

    fn row(&self, object: &Value) -> Value {
        let mut row = Map::new();
        row.insert(
            "cells".into(),
            self.printer.columns.values(object, self.now).into(),
        );
        if let Some(conditions) = self.printer.columns.row_conditions(object) {
            row.insert("conditions".into(), conditions);
        }
        let ends_list = object["metadata"]["annotations"][INITIAL_EVENTS_END] == "true";
        let carried = match self.include {
            IncludeObject::Object => object.clone(),
            IncludeObject::None if !ends_list => Value::Null,
            IncludeObject::None | IncludeObject::Metadata => {
                self.printer.partial_metadata(object, self.meta_version)
            }
        };
        row.insert("object".into(), carried);
        row.into()
    }
}

/// Returns the metadata of an object, as `PartialObjectMetadata` and in rows.
///
/// Annotations in which an API version stores fields of other versions are removed, as in the real server, where they
/// are fields.
pub(crate) fn partial_metadata(
    group: &str,
    version: &str,
    kind: &str,
    object: &Value,
    meta_version: &str,
) -> Value {
    let hidden: &[&str] = match (group, version, kind) {
        ("apps", _, "DaemonSet") => &["deprecated.daemonset.template.generation"],
        ("autoscaling", "v1", "HorizontalPodAutoscaler") => &[
            "autoscaling.alpha.kubernetes.io/behavior",
            "autoscaling.alpha.kubernetes.io/conditions",
            "autoscaling.alpha.kubernetes.io/current-metrics",
            "autoscaling.alpha.kubernetes.io/metrics",
        ],
        _ => &[],
    };
    let mut metadata = object["metadata"].clone();
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|key, _| !hidden.contains(&key.as_str()));
        if annotations.is_empty()
            && let Some(fields) = metadata.as_object_mut()
        {
            fields.remove("annotations");
        }
    }
    let mut partial = json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{meta_version}"),
    });
    partial["metadata"] = metadata;
    partial
}
