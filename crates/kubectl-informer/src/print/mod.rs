//! Output: tables, objects, differences, and messages.

pub(crate) mod colour;
pub(crate) mod columns;
pub(crate) mod diff;
pub(crate) mod messages;
pub(crate) mod objects;
pub(crate) mod stdout;
pub(crate) mod table;

use clap::ValueEnum;

/// How objects are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Columns as kubectl prints them.
    Table,
    /// The same with more columns.
    Wide,
    /// JsonObject objects as JSON.
    Json,
    /// JsonObject objects as YAML.
    Yaml,
    /// Kind and name.
    Name,
}
