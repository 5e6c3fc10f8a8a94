//! What people see: tables, objects, differences, and notes beside them.

pub(crate) mod colour;
pub(crate) mod columns;
pub(crate) mod diff;
pub(crate) mod notes;
pub(crate) mod objects;
pub(crate) mod out;
pub(crate) mod table;

use clap::ValueEnum;

/// How objects are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Columns as kubectl prints them.
    Table,
    /// The same with more columns.
    Wide,
    /// Whole objects as JSON.
    Json,
    /// Whole objects as YAML.
    Yaml,
    /// Kind and name.
    Name,
}
