//! Which objects a list or a watch is about.

mod fields;
mod labels;
#[cfg(test)]
mod tests;

pub(crate) use fields::{FieldSelector, Label, Selectable};
pub(crate) use labels::LabelSelector;

use crate::store::Stored;

/// Labels and fields together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selection {
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels.matches(&object.labels) && self.fields.matches(object)
    }
}
