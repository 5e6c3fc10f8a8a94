//! Label and field selectors of lists and watches.

mod fields;
#[cfg(test)]
mod tests;

pub(crate) use fields::{FieldSelector, SelectableFields, UnknownFieldMessage};

use kube_wire::selector::{ParseSelectorError, Selector};

use crate::status::{Result, Status};
use crate::store::Stored;

/// A label selector and a field selector.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selectors {
    pub(crate) labels: Selector,
    pub(crate) fields: FieldSelector,
}

impl Selectors {
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels.matches(&*object.labels) && self.fields.matches(object)
    }
}

/// Parses a `labelSelector`.
pub(crate) fn label_selector(text: &str) -> Result<Selector> {
    text.parse()
        .map_err(|why: ParseSelectorError| Status::bad_request(why.to_string()))
}
