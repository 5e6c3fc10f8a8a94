//! Columns and rows for programs that print tables themselves.

use jiff::Timestamp;
use serde_json::Value;

use super::{Column, CustomColumns, Printer, columns};

/// The columns of a kind and the cells of its objects, as an API server gives them to `kubectl get`: for programs that
/// print objects which they have already, as those of an informer's cache.
///
/// ```
/// use kube_embedded::Columns;
/// use serde_json::json;
///
/// let namespaces = Columns::built_in("", "v1", "Namespace").expect("Kubernetes has namespaces");
/// assert_eq!(namespaces.headings().map(|heading| heading.name).collect::<Vec<_>>(), ["Name", "Status", "Age"]);
/// let shop = json!({ "metadata": { "name": "shop" }, "status": { "phase": "Active" } });
/// assert_eq!(namespaces.cells(&shop), ["shop", "Active", "<unknown>"]);
///
/// // A custom resource has what its definition declares.
/// let backups = Columns::custom(&json!([{ "name": "Phase", "type": "string", "jsonPath": ".status.phase" }]));
/// let backup = json!({ "metadata": { "name": "nightly" }, "status": { "phase": "Done" } });
/// assert_eq!(backups.cells(&backup), ["nightly", "Done"]);
/// ```
#[derive(Debug, Clone)]
pub struct Columns {
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    BuiltIn {
        group: String,
        version: String,
        kind: String,
        columns: &'static [Column],
    },
    Custom(CustomColumns),
}

/// What stands above a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Heading<'a> {
    /// The name, as in `Ready`; kubectl prints it in capitals.
    pub name: &'a str,
    /// Only `kubectl get -o wide` shows it.
    pub is_wide: bool,
    /// Whether its cells are the objects' names.
    pub is_name: bool,
}

impl Columns {
    /// The columns of a built-in kind; none for a kind that Kubernetes does not have or does not show in tables.
    #[must_use]
    pub fn built_in(group: &str, version: &str, kind: &str) -> Option<Columns> {
        let columns = columns(group, kind)?;
        Some(Columns {
            source: Source::BuiltIn {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: kind.to_owned(),
                columns,
            },
        })
    }

    /// The columns of a custom resource, from the `additionalPrinterColumns` of a version of its definition. Null stands for
    /// none, and then there are the name and the age.
    #[must_use]
    pub fn custom(additional_printer_columns: &Value) -> Columns {
        Columns {
            source: Source::Custom(CustomColumns::new(additional_printer_columns)),
        }
    }

    /// What stands above the columns.
    pub fn headings(&self) -> impl Iterator<Item = Heading<'_>> {
        let columns = match &self.source {
            Source::BuiltIn { columns, .. } => columns,
            Source::Custom(custom) => custom.columns(),
        };
        columns.iter().map(|column| Heading {
            name: &column.name,
            is_wide: column.priority > 0,
            is_name: column.format == "name",
        })
    }

    /// The cells of an object, one for each heading. What there is no value for is empty.
    #[must_use]
    pub fn cells(&self, object: &Value) -> Vec<String> {
        let cells = self.printer().cells(object, Timestamp::now());
        cells.into_iter().map(printed).collect()
    }

    fn printer(&self) -> Printer<'_> {
        match &self.source {
            Source::BuiltIn {
                group,
                version,
                kind,
                columns,
            } => Printer::BuiltIn {
                group,
                version,
                kind,
                columns,
            },
            Source::Custom(custom) => Printer::Custom(custom),
        }
    }
}

fn printed(cell: Value) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}
