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
    /// Print kubectl's columns.
    Table,
    /// Print more columns.
    Wide,
    /// Print objects as JSON.
    Json,
    /// Print objects as YAML.
    Yaml,
    /// Print kind and name.
    Name,
}
