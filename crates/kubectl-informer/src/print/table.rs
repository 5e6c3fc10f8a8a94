//! Rows under headings, in columns that are as wide as what stands in them.

use std::io;

use kube_informer::Object;
use kube_table::Columns;
use serde_json::Value;

use super::colour::{Colour, Paint};
use super::out::Out;
use crate::cache::{Shape, Whole};

/// Between two columns, as kubectl has it.
const GAP: usize = 3;

/// So many rows are looked at before the first is written.
const BLOCK: usize = 1_000;

/// How the objects of one kind become lines. Columns grow as longer cells come and never shrink, so that a stream of lines
/// stays aligned without being known in advance.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Columns,
    /// Where in the cells the columns are that are shown.
    places: Vec<usize>,
    /// What stands before a name, as in `pod/`.
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
        let mut places = Vec::new();
        for (place, heading) in columns.headings().enumerate() {
            if wide || !heading.is_wide {
                places.push(place);
                headings.push(heading.name.to_uppercase());
            }
        }
        let widths = headings.iter().map(|heading| heading.chars().count()).collect();
        Table {
            columns,
            places,
            prefix,
            with_namespace,
            headings,
            widths,
        }
    }

    /// Writes objects under their headings. The first rows say how wide the columns are; a table of all of them would have
    /// to be waited for, and kept. Each object is decoded when its turn comes and forgotten again.
    pub(crate) fn write<S: Shape>(
        &mut self,
        out: &mut Out,
        paint: Paint,
        margin: &str,
        objects: Vec<Object<Whole<S>>>,
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
                out.line(&format!("{margin}{}", self.heading(paint)))?;
            }
            for cells in &block {
                out.line(&format!("{margin}{}", self.line(cells)))?;
            }
        }
    }

    /// The cells of an object, as far as they are shown.
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
        let shown = self.places.iter().map(|place| {
            let cell = all.get(*place).map(String::as_str).unwrap_or_default();
            cell.chars().map(on_one_line).collect()
        });
        namespace.into_iter().chain(shown).collect()
    }

    /// Makes room for cells.
    pub(crate) fn fit(&mut self, cells: &[String]) {
        for (width, cell) in self.widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }

    fn heading(&self, paint: Paint) -> String {
        paint.paint(Colour::Heading, &self.line(&self.headings))
    }

    /// Cells next to each other, each as wide as its column but the last.
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

/// What would begin a new line, or tell the terminal to do something, becomes a space.
pub(crate) fn on_one_line(character: char) -> char {
    if character.is_control() { ' ' } else { character }
}

#[cfg(test)]
mod tests {
    use kube_table::Columns;
    use serde_json::{Value, json};

    use super::super::colour::Paint;
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
        assert_eq!(table.heading(Paint::plain()), "NAME          STATUS   AGE");
        assert_eq!(table.line(&rows[0]), "a             Active   <unknown>");
        assert_eq!(table.line(&rows[1]), "a-long-name   Active   <unknown>");
    }

    #[test]
    fn several_kinds_have_their_names_before_the_objects() {
        let columns = Columns::custom(&Value::Null);
        let table = Table::new(columns, false, "namespace/".into(), true);
        assert_eq!(table.cells(&named("a")), ["shop", "namespace/a", ""]);
    }

    #[test]
    fn nothing_in_a_cell_reaches_the_terminal() {
        let cells = namespaces(false).cells(&named("evil\x1b[2J\nname"));
        assert_eq!(cells[0], "evil [2J name");
    }
}
