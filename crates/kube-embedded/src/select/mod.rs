//! Which objects a list or a watch is about.

mod fields;
#[cfg(test)]
mod tests;

pub(crate) use fields::{FieldSelector, Label, Selectable};

use kube_wire::selector::{ParseSelectorError, Selector};

use crate::status::{Result, Status};
use crate::store::Stored;

/// Labels and fields together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    pub(crate) labels: Selector,
    pub(crate) fields: FieldSelector,
}

impl Selection {
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels.matches(&*object.labels) && self.fields.matches(object)
    }
}

/// Reads the text of `labelSelector`.
pub(crate) fn label_selector(text: &str) -> Result<Selector> {
    text.parse()
        .map_err(|why: ParseSelectorError| Status::bad_request(why.to_string()))
}
