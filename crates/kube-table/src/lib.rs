//! The tables that `kubectl get` prints: columns and cells of every built-in kind, and of custom resources.
//!
//! An API server sends tables to kubectl (`meta.k8s.io/v1`, `Table`). This crate computes the same columns and cells from an object in JSON,
//! for programs that print objects they already have, for example those in an informer's cache, and for servers.
//!
//! ```
//! use kube_table::Columns;
//! use serde_json::json;
//!
//! let namespaces = Columns::built_in("", "v1", "Namespace").expect("a built-in kind");
//! assert_eq!(namespaces.headings().map(|heading| heading.name).collect::<Vec<_>>(), ["Name", "Status", "Age"]);
//! let shop = json!({ "metadata": { "name": "shop" }, "status": { "phase": "Active" } });
//! assert_eq!(namespaces.cells(&shop), ["shop", "Active", "<unknown>"]);
//!
//! // A custom resource has the columns of its definition.
//! let backups = Columns::custom(&json!([{ "name": "Phase", "type": "string", "jsonPath": ".status.phase" }]));
//! let backup = json!({ "metadata": { "name": "nightly" }, "status": { "phase": "Done" } });
//! assert_eq!(backups.cells(&backup), ["nightly", "Done"]);
//! ```
//!
//! Columns and cells are those of Kubernetes 1.36. They are tested against recorded responses of a kube-apiserver.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod age;
mod built_in;
mod custom;
mod format;
mod go;
mod jsonpath;
mod printers;
mod row;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::custom::CustomColumns;

/// The columns of a kind. They compute the cells of its objects.
#[derive(Debug, Clone)]
pub struct Columns {
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    BuiltIn {
        group: &'static str,
        version: Box<str>,
        kind: &'static str,
        columns: &'static [Column],
    },
    Custom(Arc<CustomColumns>),
}

/// An entry of a table's `columnDefinitions`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// The name, for example `Ready`.
    pub name: Cow<'static, str>,
    /// The OpenAPI type of the cells, for example `string`.
    pub type_: Cow<'static, str>,
    /// The OpenAPI format of the cells; `name` marks the column of the object's name.
    pub format: Cow<'static, str>,
    /// The description.
    pub description: Cow<'static, str>,
    /// Columns with a priority above 0 are shown by `kubectl get -o wide` only.
    pub priority: i64,
}

/// The heading of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Heading<'a> {
    /// The name, for example `Ready`. kubectl prints it in upper case.
    pub name: &'a str,
    /// Whether only `kubectl get -o wide` shows the column.
    pub is_wide: bool,
    /// Whether the cells are the names of the objects.
    pub is_name: bool,
}

impl Columns {
    /// Returns the columns of a built-in kind, or `None` for unknown kinds and those that are never listed, for example `Binding`.
    #[must_use]
    pub fn built_in(group: &str, version: &str, kind: &str) -> Option<Columns> {
        let (group, kind, columns) = built_in::columns(group, kind)?;
        Some(Columns {
            source: Source::BuiltIn {
                group,
                version: version.into(),
                kind,
                columns,
            },
        })
    }

    /// Returns the columns of a custom resource, given the `additionalPrinterColumns` of a version of its definition.
    ///
    /// Without any (null), the columns are name and age. Columns end before the first with an invalid path.
    #[must_use]
    pub fn custom(additional_printer_columns: &Value) -> Columns {
        Columns::of_custom(CustomColumns::new(additional_printer_columns))
    }

    /// Returns the columns of the `scale` subresource of custom resources.
    #[must_use]
    pub fn custom_scale() -> Columns {
        Columns::of_custom(CustomColumns::scale())
    }

    fn of_custom(custom: CustomColumns) -> Columns {
        Columns {
            source: Source::Custom(Arc::new(custom)),
        }
    }

    /// Returns the headings, wide ones included.
    pub fn headings(&self) -> impl Iterator<Item = Heading<'_>> {
        self.definitions().iter().map(|column| Heading {
            name: &column.name,
            is_wide: column.priority > 0,
            is_name: column.format == "name",
        })
    }

    /// Returns the text of an object's cells, one for each heading. Missing values are empty.
    #[must_use]
    pub fn cells(&self, object: &Value) -> Vec<String> {
        let cells = self.values(object, Timestamp::now());
        cells.into_iter().map(text_of).collect()
    }

    /// Returns the column definitions, wide ones included.
    #[must_use]
    pub fn definitions(&self) -> &[Column] {
        match &self.source {
            Source::BuiltIn { columns, .. } => columns,
            Source::Custom(custom) => custom.columns(),
        }
    }

    /// Returns an object's cells as an API server sends them, one for each definition. Ages are relative to `now`.
    #[must_use]
    pub fn values(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match &self.source {
            Source::BuiltIn {
                group, version, kind, ..
            } => printers::cells(group, version, kind, object, now),
            Source::Custom(custom) => custom.cells(object, now),
        }
    }

    /// Returns the `conditions` of an object's row. Only finished pods have some.
    #[must_use]
    pub fn row_conditions(&self, object: &Value) -> Option<Value> {
        match &self.source {
            Source::BuiltIn { group, kind, .. } => printers::row_conditions(group, kind, object),
            Source::Custom(_) => None,
        }
    }

    /// Returns whether these are the default columns of built-in kinds that define none: name and creation time.
    #[must_use]
    pub fn is_default(&self) -> bool {
        match &self.source {
            Source::BuiltIn { group, kind, .. } => !printers::has_printer(group, kind),
            Source::Custom(_) => false,
        }
    }
}

impl Column {
    /// Returns the column definition in JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::json!({
            "name": self.name,
            "type": self.type_,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}

fn text_of(cell: Value) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}
