//! Names in the documents.

/// Returns the name of a built-in type. The first part of the group is the name of its package.
pub(super) fn builtin_type(group: &str, version: &str, kind: &str) -> String {
    let package = match group {
        "" => "core",
        group => group.split('.').next().unwrap_or(group),
    };
    format!("io.k8s.api.{package}.{version}.{kind}")
}

/// Returns the parts of a group's name without the domain of Kubernetes.
fn words(group: &str) -> Vec<&str> {
    match group {
        "" => vec!["core"],
        group => group
            .strip_suffix(".k8s.io")
            .unwrap_or(group)
            .split(['.', '-'])
            .collect(),
    }
}

/// Converts `status` to `Status`.
pub(super) fn capitalize(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + chars.as_str()
    })
}

/// Returns a tag such as `rbacAuthorization_v1`.
pub(super) fn tag(group: &str, version: &str) -> String {
    let mut words = words(group).into_iter();
    let first = words.next().unwrap_or_default().to_owned();
    let rest: String = words.map(capitalize).collect();
    format!("{first}{rest}_{version}")
}

/// Returns a part of operation ids such as `RbacAuthorizationV1`.
pub(super) fn operation_part(group: &str, version: &str) -> String {
    let group: String = words(group).into_iter().map(capitalize).collect();
    format!("{group}{}", capitalize(version))
}
