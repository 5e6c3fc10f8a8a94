//! Changes as people and programs read them.

use std::io::IsTerminal as _;

use kube_informer::{DiscoveredResource, Event, Object, WatchedResource};
use kube_informer_dashboard::fields::{Difference, differences};
use serde::Serialize;
use serde_json::Value;

use crate::cache::{Shape, Whole};
use crate::failure::Outcome;
use crate::print::colour::{Colour, Paint};
use crate::print::out::Out;
use crate::print::table::Table;
use crate::print::{Output, diff, objects};

/// So many fields of a change are shown, unless everything is asked for.
const FIELDS: usize = 6;

/// One kind of the stream.
pub(super) struct Shown {
    pub(super) resource: DiscoveredResource,
    pub(super) names: WatchedResource,
    pub(super) table: Table,
}

/// Writes the stream.
pub(super) struct Show {
    out: Out,
    output: Output,
    paint: Paint,
    kinds: Vec<Shown>,
    /// In a terminal each field of a change has a line of its own; elsewhere a change is one line.
    in_terminal: bool,
    has_documents: bool,
}

/// How a change is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Present,
    Added,
    Updated,
    Resync,
    Deleted,
}

impl Sign {
    fn mark(self) -> &'static str {
        match self {
            Sign::Present => " ",
            Sign::Added => "+",
            Sign::Updated => "~",
            Sign::Resync => "=",
            Sign::Deleted => "-",
        }
    }

    fn colour(self) -> Colour {
        match self {
            Sign::Added => Colour::Added,
            Sign::Updated => Colour::Changed,
            Sign::Deleted => Colour::Deleted,
            Sign::Present | Sign::Resync => Colour::Faint,
        }
    }

    /// The word of Kubernetes' watches, and one for what they do not have.
    fn word(self) -> &'static str {
        match self {
            Sign::Present | Sign::Added => "ADDED",
            Sign::Updated => "MODIFIED",
            Sign::Resync => "RESYNC",
            Sign::Deleted => "DELETED",
        }
    }
}

/// A change as JSON and YAML.
#[derive(Serialize)]
struct Told {
    #[serde(rename = "type")]
    word: &'static str,
    object: Value,
}

impl Show {
    pub(super) fn new(output: Output, paint: Paint, kinds: Vec<Shown>) -> Show {
        Show {
            out: Out::new(),
            output,
            paint,
            kinds,
            in_terminal: std::io::stdout().is_terminal(),
            has_documents: false,
        }
    }

    /// What is there of a kind at the beginning.
    pub(super) fn present<S: Shape>(&mut self, kind: usize, objects: Vec<Object<Whole<S>>>) -> Outcome {
        if matches!(self.output, Output::Table | Output::Wide) {
            let table = &mut self.kinds[kind].table;
            return Ok(table.write(&mut self.out, self.paint, "  ", objects)?);
        }
        for object in objects {
            self.object(kind, Sign::Present, &object)?;
        }
        self.flush()
    }

    /// A change of a kind's object.
    pub(super) fn change<S: Shape>(&mut self, kind: usize, change: &Event<Whole<S>>) -> Outcome {
        let sign = match change {
            Event::Added { .. } => Sign::Added,
            Event::Updated { .. } if change.is_resync() => Sign::Resync,
            Event::Updated { .. } => Sign::Updated,
            Event::Deleted(_) => Sign::Deleted,
        };
        if !matches!(self.output, Output::Table | Output::Wide) {
            return self.object(kind, sign, change.object());
        }
        let shown = &mut self.kinds[kind];
        let cells = shown.table.cells(change.object().value());
        shown.table.fit(&cells);
        let row = shown.table.line(&cells);
        let mut line = self.paint.paint(sign.colour(), &format!("{} {row}", sign.mark()));
        if let (Sign::Updated, Event::Updated { old, new }) = (sign, change) {
            let found = differences(&shown.names, old.value(), new.value());
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

    /// The fields that differ, as many as are shown.
    fn fields(&self, found: &[Difference]) -> Vec<String> {
        let most = if self.output == Output::Wide {
            usize::MAX
        } else {
            FIELDS
        };
        let shown = found.iter().take(most);
        let mut lines: Vec<_> = shown.map(|found| diff::line(found, self.paint)).collect();
        if found.len() > lines.len() {
            let more = format!("and {} more (-o wide shows all)", found.len() - lines.len());
            lines.push(self.paint.paint(Colour::Faint, &more));
        }
        lines
    }

    fn object<S: Shape>(&mut self, kind: usize, sign: Sign, object: &Whole<S>) -> Outcome {
        let resource = &self.kinds[kind].resource;
        let told = || Told {
            word: sign.word(),
            object: object.typed(resource.api_resource()),
        };
        match self.output {
            Output::Json => self.out.line(&objects::json_line(&told())?)?,
            Output::Yaml => {
                let is_first = !std::mem::replace(&mut self.has_documents, true);
                let separator = if is_first { "" } else { "---\n" };
                self.out
                    .write(&format!("{separator}{}", objects::yaml(&told())?))?;
            }
            Output::Name | Output::Table | Output::Wide => {
                let name = objects::name(resource, object.value());
                let line = match sign {
                    Sign::Present => name,
                    sign => self
                        .paint
                        .paint(sign.colour(), &format!("{} {name}", sign.mark())),
                };
                self.out.line(&line)?;
            }
        }
        Ok(())
    }

    /// Shows everything that was written.
    pub(super) fn flush(&mut self) -> Outcome {
        Ok(self.out.flush()?)
    }
}
