//! Objects as rows of a `Table` (`meta.k8s.io/v1`), which is what `kubectl get` asks for and prints.
//!
//! A [`Printer`] knows one kind's columns and makes the cells of one object. Built-in kinds have their columns in one table
//! (`columns.txt`) and their cells in [`printers`]; a custom resource declares both through `additionalPrinterColumns`.
//! [`Sheet`] puts rows together into the answer, for a list, a single object or one event of a watch.

mod age;
mod columns;
mod custom;
mod format;
mod go;
mod jsonpath;
mod printers;
mod row;
mod sheet;
mod shown;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub(crate) use columns::columns;
pub(crate) use custom::CustomColumns;
pub(crate) use sheet::{IncludeObject, Printer, Sheet, partial_metadata};
pub use shown::{Columns, Heading};

/// One entry of a table's `columnDefinitions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: Cow<'static, str>,
    pub(crate) type_: Cow<'static, str>,
    pub(crate) format: Cow<'static, str>,
    pub(crate) description: Cow<'static, str>,
    /// Columns above 0 are shown by `kubectl get -o wide` only.
    pub(crate) priority: i64,
}

impl Column {
    fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "name": self.name,
            "type": self.type_,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}
