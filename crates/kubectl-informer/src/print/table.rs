//! Aligned tables.

use std::io;

use kube_informer::Object;
use kube_table::Columns;
use serde_json::Value;

use super::colour::{Colour, Painter};
use super::stdout::BufferedStdout;
use crate::cache::{JsonObject, ObjectForm};

/// Spaces between two columns, as kubectl prints them.
const GAP: usize = 3;

/// Number of rows that determine the initial widths.
const BLOCK: usize = 1_000;

/// Formats the objects of one kind as lines.
///
/// Columns grow with longer cells and never shrink, so that a stream of lines stays aligned.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Columns,
    /// Indexes of the columns that are shown.
    indexes: Vec<usize>,
    /// Prefix of names, for example `pod/`.
    prefix: String,
    with_namespace: bool,
    headings: Vec<String>,
    widths: Vec<usize>,
}

impl Table {
    pub(crate) fn new(columns: Columns, wide: bool, prefix: String, with_namespace: bool) -> Table {
        let mut headings: Vec<String> = with_namespace
            .then(|| "NAMESPACE".to_owned())
            .into_iter()
            .collect();
        let mut indexes = Vec::new();
        for (index, heading) in columns.headings().enumerate() {
            if wide || !heading.is_wide {
                indexes.push(index);
                headings.push(heading.name.to_uppercase());
            }
        }
        let widths = headings.iter().map(|heading| heading.chars().count()).collect();
        Table {
            columns,
            indexes,
            prefix,
            with_namespace,
            headings,
            widths,
        }
    }

    /// Writes objects under their headings.
    ///
    /// The first rows determine the widths, so that output starts early. Objects are decoded one block at a time to save memory.
    pub(crate) fn write<S: ObjectForm>(
        &mut self,
        out: &mut BufferedStdout,
        painter: Painter,
        margin: &str,
        objects: Vec<Object<JsonObject<S>>>,
    ) -> io::Result<()> {
        let mut objects = objects.into_iter();
        let mut is_first = true;
        loop {
            let block = objects.by_ref().take(BLOCK);
            let block: Vec<_> = block.map(|object| self.cells(object.value())).collect();
            if block.is_empty() {
                return out.flush();
            }
            for cells in &block {
                self.fit(cells);
            }
            if std::mem::take(&mut is_first) {
                out.line(&format!("{margin}{}", self.heading(painter)))?;
            }
            for cells in &block {
                out.line(&format!("{margin}{}", self.line(cells)))?;
            }
        }
    }

    /// Returns the cells of an object that are shown.
    pub(crate) fn cells(&self, object: &Value) -> Vec<String> {
        let mut all = self.columns.cells(object);
        if !self.prefix.is_empty()
            && let Some(name) = self.columns.headings().position(|heading| heading.is_name)
            && let Some(cell) = all.get_mut(name)
        {
            cell.insert_str(0, &self.prefix);
        }
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let namespace = self.with_namespace.then(|| namespace.to_owned());
        let shown = self.indexes.iter().map(|index| {
            let cell = all.get(*index).map(String::as_str).unwrap_or_default();
            cell.chars().map(on_one_line).collect()
        });
        namespace.into_iter().chain(shown).collect()
    }

    /// Widens columns to fit the cells.
    pub(crate) fn fit(&mut self, cells: &[String]) {
        for (width, cell) in self.widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }

    fn heading(&self, painter: Painter) -> String {
        painter.paint(Colour::Heading, &self.line(&self.headings))
    }

    /// Pads cells to the widths of their columns, except the last one.
    pub(crate) fn line(&self, cells: &[String]) -> String {
        let mut line = String::new();
        for (at, (cell, width)) in cells.iter().zip(&self.widths).enumerate() {
            line.push_str(cell);
            if at + 1 < cells.len() {
                let space = width.saturating_sub(cell.chars().count()) + GAP;
                line.extend(std::iter::repeat_n(' ', space));
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Replaces control characters by spaces.
pub(crate) fn on_one_line(character: char) -> char {
    if character.is_control() { ' ' } else { character }
}

#[cfg(test)]
mod tests {
    use kube_table::Columns;
    use serde_json::{Value, json};

    use super::super::colour::Painter;
    use super::Table;

    fn namespaces(wide: bool) -> Table {
        let columns = Columns::built_in("", "v1", "Namespace").expect("Kubernetes has namespaces");
        Table::new(columns, wide, String::new(), false)
    }

    fn named(name: &str) -> Value {
        json!({ "metadata": { "name": name, "namespace": "shop" }, "status": { "phase": "Active" } })
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let mut table = namespaces(false);
        let rows = [table.cells(&named("a")), table.cells(&named("a-long-name"))];
        for row in &rows {
            table.fit(row);
        }
        assert_eq!(table.heading(Painter::plain()), "NAME          STATUS   AGE");
        assert_eq!(table.line(&rows[0]), "a             Active   <unknown>");
        assert_eq!(table.line(&rows[1]), "a-long-name   Active   <unknown>");
    }

    #[test]
    fn names_have_a_prefix_if_several_kinds_are_printed() {
        let columns = Columns::custom(&Value::Null);
        let table = Table::new(columns, false, "namespace/".into(), true);
        assert_eq!(table.cells(&named("a")), ["shop", "namespace/a", ""]);
    }

    #[test]
    fn control_characters_of_a_cell_are_replaced() {
        let cells = namespaces(false).cells(&named("evil\x1b[2J\nname"));
        assert_eq!(cells[0], "evil [2J name");
    }
}
