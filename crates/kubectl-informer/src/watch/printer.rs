//! Prints changes, as text for people or as JSON and YAML for programs.

use std::io::IsTerminal as _;

use kube_informer::{Event, Object, WatchedResource, discovery::DiscoveredResource};
use kube_informer_dashboard::fields::{Difference, differences};
use serde::Serialize;
use serde_json::Value;

use crate::cache::{JsonObject, ObjectForm};
use crate::failure::Outcome;
use crate::print::colour::{Colour, Painter};
use crate::print::stdout::BufferedStdout;
use crate::print::table::Table;
use crate::print::{Output, diff, objects};

/// Maximum number of fields in a change, unless the output is wide.
const MAX_FIELDS: usize = 6;

/// A kind that is watched, and how its objects are printed.
pub(super) struct WatchedKind {
    pub(super) resource: DiscoveredResource,
    pub(super) names: WatchedResource,
    pub(super) table: Table,
}

/// Prints objects and changes of the watched kinds.
pub(super) struct ChangePrinter {
    out: BufferedStdout,
    output: Output,
    painter: Painter,
    kinds: Vec<WatchedKind>,
    /// In a terminal, each field of a change is a separate line; otherwise a change is one line.
    in_terminal: bool,
    has_documents: bool,
}

/// The type of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangeType {
    Present,
    Added,
    Updated,
    Resync,
    Deleted,
}

impl ChangeType {
    fn mark(self) -> &'static str {
        match self {
            ChangeType::Present => " ",
            ChangeType::Added => "+",
            ChangeType::Updated => "~",
            ChangeType::Resync => "=",
            ChangeType::Deleted => "-",
        }
    }

    fn colour(self) -> Colour {
        match self {
            ChangeType::Added => Colour::Added,
            ChangeType::Updated => Colour::Changed,
            ChangeType::Deleted => Colour::Deleted,
            ChangeType::Present | ChangeType::Resync => Colour::Faint,
        }
    }

    /// Returns the type of the watch event, or `RESYNC`, which watches do not have.
    fn label(self) -> &'static str {
        match self {
            ChangeType::Present | ChangeType::Added => "ADDED",
            ChangeType::Updated => "MODIFIED",
            ChangeType::Resync => "RESYNC",
            ChangeType::Deleted => "DELETED",
        }
    }
}

/// A change as JSON and YAML.
#[derive(Serialize)]
struct PrintedChange {
    #[serde(rename = "type")]
    label: &'static str,
    object: Value,
}

impl ChangePrinter {
    pub(super) fn new(output: Output, painter: Painter, kinds: Vec<WatchedKind>) -> ChangePrinter {
        ChangePrinter {
            out: BufferedStdout::new(),
            output,
            painter,
            kinds,
            in_terminal: std::io::stdout().is_terminal(),
            has_documents: false,
        }
    }

    /// Prints the initial objects of a kind.
    pub(super) fn initial<S: ObjectForm>(
        &mut self,
        kind: usize,
        objects: Vec<Object<JsonObject<S>>>,
    ) -> Outcome {
        if matches!(self.output, Output::Table | Output::Wide) {
            let table = &mut self.kinds[kind].table;
            return Ok(table.write(&mut self.out, self.painter, "  ", objects)?);
        }
        for object in objects {
            self.object(kind, ChangeType::Present, &object)?;
        }
        self.flush()
    }

    /// Prints a change of an object.
    pub(super) fn change<S: ObjectForm>(&mut self, kind: usize, change: &Event<JsonObject<S>>) -> Outcome {
        let change_type = match change {
            Event::Added { .. } => ChangeType::Added,
            Event::Updated { .. } if change.is_resync() => ChangeType::Resync,
            Event::Updated { .. } => ChangeType::Updated,
            Event::Deleted(_) => ChangeType::Deleted,
        };
        if !matches!(self.output, Output::Table | Output::Wide) {
            return self.object(kind, change_type, change.object());
        }
        let watched = &mut self.kinds[kind];
        let cells = watched.table.cells(change.object().value());
        watched.table.fit(&cells);
        let row = watched.table.line(&cells);
        let mut line = self
            .painter
            .paint(change_type.colour(), &format!("{} {row}", change_type.mark()));
        if let (ChangeType::Updated, Event::Updated { old, new }) = (change_type, change) {
            let found = differences(&watched.names, old.value(), new.value());
            let fields = self.fields(&found);
            for (at, field) in fields.iter().enumerate() {
                line.push_str(match (self.in_terminal, at) {
                    (true, _) => "\n      ",
                    (false, 0) => "   ",
                    (false, _) => "; ",
                });
                line.push_str(field);
            }
        }
        Ok(self.out.line(&line)?)
    }

    /// Returns the lines of the changed fields.
    fn fields(&self, found: &[Difference]) -> Vec<String> {
        let max = if self.output == Output::Wide {
            usize::MAX
        } else {
            MAX_FIELDS
        };
        let shown = found.iter().take(max);
        let mut lines: Vec<_> = shown.map(|found| diff::line(found, self.painter)).collect();
        if found.len() > lines.len() {
            let more = format!("and {} more (-o wide shows all)", found.len() - lines.len());
            lines.push(self.painter.paint(Colour::Faint, &more));
        }
        lines
    }

    fn object<S: ObjectForm>(
        &mut self,
        kind: usize,
        change_type: ChangeType,
        object: &JsonObject<S>,
    ) -> Outcome {
        let resource = &self.kinds[kind].resource;
        let change = || PrintedChange {
            label: change_type.label(),
            object: object.typed(resource.api_resource()),
        };
        match self.output {
            Output::Json => self.out.line(&objects::json_line(&change())?)?,
            Output::Yaml => {
                let is_first = !std::mem::replace(&mut self.has_documents, true);
                let separator = if is_first { "" } else { "---\n" };
                self.out
                    .write(&format!("{separator}{}", objects::yaml(&change())?))?;
            }
            Output::Name | Output::Table | Output::Wide => {
                let name = objects::name(resource, object.value());
                let line = match change_type {
                    ChangeType::Present => name,
                    change_type => self
                        .painter
                        .paint(change_type.colour(), &format!("{} {name}", change_type.mark())),
                };
                self.out.line(&line)?;
            }
        }
        Ok(())
    }

    /// Writes buffered output.
    pub(super) fn flush(&mut self) -> Outcome {
        Ok(self.out.flush()?)
    }
}
