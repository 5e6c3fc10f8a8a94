//! Informers of a plan.

use std::time::Duration;

use contract_checker::ObjectState;
use kube_informer::Key;

use crate::objects::is_chosen;

/// What an informer keeps of objects.
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

/// Which objects an informer selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    Everything,
    /// Those of some namespaces.
    Namespaces(Vec<String>),
    /// Those with the label.
    Chosen,
}

impl Selection {
    /// Whether an object in this state is selected.
    pub(crate) fn selects(&self, key: &Key, state: &ObjectState) -> bool {
        match self {
            Selection::Everything => true,
            Selection::Namespaces(namespaces) => namespaces
                .iter()
                .any(|namespace| key.namespace() == Some(namespace.as_str())),
            Selection::Chosen => is_chosen(state),
        }
    }

    /// The namespaces of an informer of several, else none.
    pub(crate) fn several_namespaces(&self) -> &[String] {
        match self {
            Selection::Namespaces(namespaces) if namespaces.len() > 1 => namespaces,
            _ => &[],
        }
    }
}

/// What an informer's transform does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransformPlan {
    /// There is none.
    None,
    /// Changes labels, annotations and owners.
    Changes,
    /// The same, and returns an error for poisoned objects.
    Fails,
    /// The same, and panics for poisoned objects.
    Panics,
}

/// An informer.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent options of an informer")]
pub struct InformerPlan {
    /// What it keeps of objects.
    pub format: ObjectFormat,
    /// Which objects it selects.
    pub selection: Selection,
    /// Whether it asks for JSON.
    pub json: bool,
    /// Whether it asks for streaming lists.
    pub streams: bool,
    /// Page size; zero for the default.
    pub page: u32,
    /// Default resync period; zero for none.
    pub resync: Duration,
    /// Whether a work queue with workers is attached.
    pub works: bool,
    /// Whether it has an index from the start.
    pub has_index: bool,
    /// Its transform.
    pub transform: TransformPlan,
    /// Whether the field `data` is pruned.
    pub prunes_data: bool,
    /// Whether it keeps `managedFields`.
    pub keeps_managed_fields: bool,
    /// How often it compares its cache with the server, and relists if they differ.
    pub check_every: Option<Duration>,
    /// Whether it is made by a factory, and asked for twice.
    pub from_factory: bool,
}
