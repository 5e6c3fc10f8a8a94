//! Informers of a plan.

use std::time::Duration;

use contract_checker::ObjectState;
use kube_informer::Key;

use crate::objects::is_chosen;

/// The format of cached objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// Decoded objects of the kind's type.
    Decoded,
    /// Encoded objects.
    Packed,
    /// Metadata only.
    Metadata,
    /// `DynamicObject`.
    Dynamic,
}

/// The selection of an informer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All objects.
    Everything,
    /// The objects of some namespaces.
    Namespaces(Vec<String>),
    /// The objects with the label.
    Chosen,
}

impl Selection {
    /// Returns whether an object in this state is selected.
    pub(crate) fn selects(&self, key: &Key, state: &ObjectState) -> bool {
        match self {
            Selection::Everything => true,
            Selection::Namespaces(namespaces) => namespaces
                .iter()
                .any(|namespace| key.namespace() == Some(namespace.as_str())),
            Selection::Chosen => is_chosen(state),
        }
    }

    /// Returns the namespaces of an informer of several, otherwise none.
    pub(crate) fn several_namespaces(&self) -> &[String] {
        match self {
            Selection::Namespaces(namespaces) if namespaces.len() > 1 => namespaces,
            _ => &[],
        }
    }
}

/// The transform of an informer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransformPlan {
    /// No transform.
    None,
    /// Changes labels, annotations and owners.
    Changes,
    /// The same, and returns an error for poisoned objects.
    Fails,
    /// The same, and panics for poisoned objects.
    Panics,
}

/// An informer of a plan.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent options of an informer")]
pub struct InformerPlan {
    /// The format of cached objects.
    pub format: ObjectFormat,
    /// The selection.
    pub selection: Selection,
    /// Whether it requests JSON.
    pub json: bool,
    /// Whether it requests streaming lists.
    pub streams: bool,
    /// Page size; zero for the default.
    pub page: u32,
    /// Default resync period; zero for none.
    pub resync: Duration,
    /// Whether a work queue with workers is attached.
    pub works: bool,
    /// Whether it has an index from the beginning.
    pub has_index: bool,
    /// Its transform.
    pub transform: TransformPlan,
    /// Whether the field `data` is pruned.
    pub prunes_data: bool,
    /// Whether it keeps `managedFields`.
    pub keeps_managed_fields: bool,
    /// Interval of comparisons with the server; it relists if they differ.
    pub check_every: Option<Duration>,
    /// Whether it is created by a factory, twice.
    pub from_factory: bool,
}
