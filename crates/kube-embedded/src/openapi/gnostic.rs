//! `/openapi/v2` in protobuf, reduced to what kubectl reads: the parameters of patches by kind.
//!
//! kubectl requests it for unknown kinds, and fails without it.

use super::ResourceDoc;

/// The parameters of a patch that clients look up.
const PARAMETERS: [&str; 5] = ["dryRun", "fieldManager", "fieldValidation", "force", "pretty"];

/// Returns the document of these resources.
pub(crate) fn document(resources: &[ResourceDoc<'_>], title: &str, version: &str) -> Vec<u8> {
    let mut paths = Vec::new();
    for resource in resources.iter().filter(|r| r.verbs.contains(&"patch")) {
        let mut item = text(1, &path(resource));
        item.extend(field(2, &field(8, &patch(resource))));
        paths.extend(field(2, &item));
    }
    let info = [text(1, title), text(2, version)].concat();
    [text(1, "2.0"), field(2, &info), field(8, &paths)].concat()
}

fn path(resource: &ResourceDoc<'_>) -> String {
    let prefix = match resource.group {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    let scope = if resource.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    format!("{prefix}{scope}/{}/{{name}}", resource.plural)
}

/// Encodes an operation: its parameters and its kind.
fn patch(resource: &ResourceDoc<'_>) -> Vec<u8> {
    let mut operation = Vec::new();
    for name in PARAMETERS {
        let query = [text(2, "query"), text(4, name), text(6, "string")].concat();
        // A parameter in the query.
        operation.extend(field(8, &field(1, &field(2, &field(3, &query)))));
    }
    let kind = format!(
        "group: {:?}\nkind: {:?}\nversion: {:?}\n",
        resource.group, resource.kind, resource.version
    );
    let extension = [
        text(1, "x-kubernetes-group-version-kind"),
        field(2, &text(2, &kind)),
    ]
    .concat();
    operation.extend(field(13, &extension));
    operation
}

fn text(number: u8, value: &str) -> Vec<u8> {
    field(number, value.as_bytes())
}

/// Encodes a protobuf field with bytes: text or a message.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        out.push(u8::try_from(length & 0x7f).unwrap_or_default() | 0x80);
        length >>= 7;
    }
    out.push(u8::try_from(length).unwrap_or_default());
    out.extend_from_slice(content);
    out
}
