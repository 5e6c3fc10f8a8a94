//! Label selectors in objects.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube_wire::selector::{ParseSelectorError, Selector};

/// Converts the selector in an object, for example that of a Deployment for its pods.
///
/// An empty selector selects everything. The meaning of a missing selector depends on the kind.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
/// use std::collections::BTreeMap;
///
/// let selector = LabelSelector {
///     match_labels: Some(BTreeMap::from([("app".to_owned(), "web".to_owned())])),
///     ..LabelSelector::default()
/// };
/// assert_eq!(kube_informer::selector_of(&selector)?.to_string(), "app=web");
/// # Ok::<(), kube_informer::error::ParseSelectorError>(())
/// ```
///
/// # Errors
/// Returns an error if it has an unknown operator, or values that do not match the operator.
#[doc(alias = "LabelSelectorAsSelector")]
pub fn selector_of(selector: &LabelSelector) -> Result<Selector, ParseSelectorError> {
    let expressions = selector.match_expressions.iter().flatten().map(|expression| {
        let values = expression.values.as_deref().unwrap_or_default();
        (expression.key.as_str(), expression.operator.as_str(), values)
    });
    Selector::from_parts(selector.match_labels.as_ref(), expressions)
}
