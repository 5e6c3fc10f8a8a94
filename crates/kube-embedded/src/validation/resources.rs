//! Validates requests and limits of containers.

use std::cmp::Ordering;

use serde_json::Value;

use super::errors::Errors;
use super::names;
use crate::schema::quantity::Quantity;

fn quantity(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?).ok()
}

/// Returns whether a resource is defined by Kubernetes. Other names need a domain.
fn is_standard(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
}

/// Returns whether a resource cannot be overcommitted: all but those that the kernel can share.
fn is_exclusive(name: &str) -> bool {
    !matches!(name, "cpu" | "memory" | "ephemeral-storage")
}

fn resource_name(at: &str, name: &str, errors: &mut Errors) {
    let problems = names::qualified(name);
    let qualified = problems.is_empty();
    errors.problems(at, name, problems);
    if !name.contains('/') {
        if !is_standard(name) {
            if qualified {
                errors.invalid(at, name, "must be a standard resource type or fully qualified");
            }
            errors.invalid(at, name, "must be a standard resource for containers");
        }
    } else if !name.contains("kubernetes.io/") {
        let quota = format!("requests.{name}");
        if name.starts_with("requests.") || !names::qualified(&quota).is_empty() {
            errors.invalid(at, name, "doesn't follow extended resource name standard");
        }
    }
}

/// Validates names and amounts, and that requests do not exceed limits.
pub(super) fn resources(at: &str, resources: &Value, errors: &mut Errors) {
    let mut exclusive = None;
    for side in ["limits", "requests"] {
        for (name, amount) in resources[side].as_object().into_iter().flatten() {
            let field = format!("{at}.{side}[{name}]");
            resource_name(&field, name, errors);
            let Some(parsed) = quantity(amount) else { continue };
            if parsed.sign() == Ordering::Less {
                errors.invalid(field, amount.clone(), "must be greater than or equal to 0");
            } else if is_exclusive(name) && !parsed.is_whole() {
                errors.invalid(field, amount.clone(), "must be an integer");
            }
        }
    }
    for (name, amount) in resources["requests"].as_object().into_iter().flatten() {
        match (quantity(amount), quantity(&resources["limits"][name])) {
            (Some(request), Some(most)) => {
                let order = request.compare(&most);
                let most = most.print();
                if is_exclusive(name) && order != Ordering::Equal {
                    let detail = format!("must be equal to {name} limit of {most}");
                    errors.invalid(format!("{at}.requests"), amount.clone(), &detail);
                } else if order == Ordering::Greater {
                    let detail = format!("must be less than or equal to {name} limit of {most}");
                    errors.invalid(format!("{at}.requests"), amount.clone(), &detail);
                }
            }
            (Some(_), None) if is_exclusive(name) => exclusive = Some(name),
            _ => {}
        }
    }
    if exclusive.is_some() {
        errors.required_because(
            format!("{at}.limits"),
            "Limit must be set for non overcommitable resources",
        );
    }
}
