//! Validates a `CustomResourceDefinition`.
//!
//! The server stores the common parts of all versions once in the definition, and its error paths show that: the path
//! of a schema that all versions share is `spec.validation`, otherwise it is `spec.versions[0].schema`.

mod approval;
mod conversion;
mod default_values;
mod defaults;
mod go_format;
mod rules;
mod selectable;
mod structural;
mod subresources;

use serde_json::Value;

pub(super) use self::defaults::default_crd;
pub(crate) use self::defaults::unrecognized_formats;
use super::expressions;
use super::names::{dns_label, dns_subdomain};
use super::status::{initial_status, is_established, updated_status};
use super::structure::Schema;
use crate::status::FieldError;

/// Validates a definition; with `old`, also its changes.
pub(crate) fn validate_crd(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut crd = crd.clone();
    default_crd(&mut crd);
    let mut errors = Vec::new();
    if old.is_none() {
        check_name(&crd, &mut errors);
    }
    check_spec(&crd["spec"], &mut errors);
    if let Some(old) = old {
        check_update(&crd, old, &mut errors);
    }
    let status = old.map_or_else(|| initial_status(&crd), |old| updated_status(&crd, old));
    check_stored_versions(&crd, &status["storedVersions"], &mut errors);
    approval::check(&crd, old, &mut errors);
    if crd["spec"]["preserveUnknownFields"] == true
        && old.is_none_or(|o| o["spec"]["preserveUnknownFields"] != true)
    {
        errors.push(FieldError::invalid(
            "spec.preserveUnknownFields",
            true,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ));
    }
    errors
}

fn check_name(crd: &Value, errors: &mut Vec<FieldError>) {
    let name = crd["metadata"]["name"].as_str().unwrap_or_default();
    let spec = &crd["spec"];
    let plural = spec["names"]["plural"].as_str().unwrap_or_default();
    let group = spec["group"].as_str().unwrap_or_default();
    let mut wrong = dns_subdomain(name);
    if name != format!("{plural}.{group}") {
        wrong.push(r#"must be spec.names.plural+"."+spec.group"#.into());
    }
    errors.extend(
        wrong
            .into_iter()
            .map(|w| FieldError::invalid("metadata.name", name, w)),
    );
}

/// Returns a part of the versions, if it is the same in all of them.
fn shared<'a>(versions: &'a [Value], key: &str) -> Option<&'a Value> {
    let (first, rest) = versions.split_first()?;
    rest.iter().all(|v| v[key] == first[key]).then_some(&first[key])
}

fn check_spec(spec: &Value, errors: &mut Vec<FieldError>) {
    let spec = Schema(spec);
    let group = spec.text("group");
    let wrong = dns_subdomain(group);
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid("spec.group", group, wrong.join(",")));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        errors.push(FieldError::invalid("spec.group", group, detail));
    }
    match spec.text("scope") {
        "Cluster" | "Namespaced" => {}
        "" => errors.push(FieldError::required("spec.scope", "")),
        other => errors.push(FieldError::not_supported(
            "spec.scope",
            other,
            &["Cluster", "Namespaced"],
        )),
    }
    let versions = spec.list("versions");
    check_schemas_are_there(versions, errors);
    if spec.flag("preserveUnknownFields")
        && versions
            .iter()
            .any(|v| Schema(&v["schema"]["openAPIV3Schema"]).any(&|s| s.default().is_some()))
    {
        let detail = "must be false in order to use defaults in the schema";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, detail));
    }
    for (at, version) in versions.iter().enumerate() {
        check_version(versions, at, version, errors);
    }
    check_version_list(versions, errors);
    check_names(Schema(&spec.0["names"]), errors);
    if let Some(schema) = shared(versions, "schema") {
        let any_status = versions.iter().any(|v| v["subresources"]["status"].is_object());
        check_schema(schema, any_status, "spec.validation", errors);
    }
    if let Some(subresources) = shared(versions, "subresources") {
        subresources::check(subresources, "spec.subresources", errors);
    }
    if let Some(columns) = shared(versions, "additionalPrinterColumns") {
        subresources::check_columns(columns, "spec.additionalPrinterColumns", errors);
    }
    if let Some(fields) = shared(versions, "selectableFields") {
        let schema = shared(versions, "schema").filter(|s| s.is_object());
        let missing = "may only be set when validations.schema is included";
        selectable::check(fields, schema, missing, "spec.selectableFields", errors);
    }
    conversion::check(Schema(&spec.0["conversion"]), errors);
}

fn check_schemas_are_there(versions: &[Value], errors: &mut Vec<FieldError>) {
    if shared(versions, "schema").is_some_and(|s| s["openAPIV3Schema"].is_object()) {
        return;
    }
    for (at, version) in versions.iter().enumerate() {
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let field = format!("spec.versions[{at}].schema.openAPIV3Schema");
            errors.push(FieldError::required(field, ""));
        }
    }
}

fn check_version(versions: &[Value], at: usize, version: &Value, errors: &mut Vec<FieldError>) {
    let path = format!("spec.versions[{at}]");
    let name = version["name"].as_str().unwrap_or_default();
    let wrong = dns_label(name);
    if !wrong.is_empty() {
        errors.push(FieldError::invalid(format!("{path}.name"), name, wrong.join(",")));
    }
    check_deprecation(Schema(version), &path, errors);
    if shared(versions, "schema").is_none() {
        let has_status = version["subresources"]["status"].is_object();
        check_schema(&version["schema"], has_status, &format!("{path}.schema"), errors);
    }
    if shared(versions, "subresources").is_none() {
        subresources::check(&version["subresources"], &format!("{path}.subresources"), errors);
    }
    if shared(versions, "additionalPrinterColumns").is_none() {
        let columns = &version["additionalPrinterColumns"];
        subresources::check_columns(columns, &format!("{path}.additionalPrinterColumns"), errors);
    }
    if shared(versions, "selectableFields").is_none() {
        let own = shared(versions, "schema").is_none();
        let schema = Some(&version["schema"]).filter(|s| own && s["openAPIV3Schema"].is_object());
        let missing = "may only be set when `version.schema.openAPIV3Schema` is not included";
        let path = format!("{path}.selectableFields");
        selectable::check(&version["selectableFields"], schema, missing, &path, errors);
    }
}

fn check_deprecation(version: Schema<'_>, path: &str, errors: &mut Vec<FieldError>) {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else {
        return;
    };
    let field = || format!("{path}.deprecationWarning");
    let mut complain = |detail: String| errors.push(FieldError::invalid(field(), warning, detail));
    if !version.flag("deprecated") {
        complain("can only be set for deprecated versions".into());
        return;
    }
    if warning.len() > 256 {
        complain("must be <= 256 characters long".into());
    }
    if warning.is_empty() {
        complain("must not be an empty string".into());
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
        complain(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
}

fn check_version_list(versions: &[Value], errors: &mut Vec<FieldError>) {
    let mut complain = |detail: &str| {
        let error = FieldError::invalid("spec.versions", Value::Null, detail);
        errors.push(error.showing(go_format::versions(versions)));
    };
    let is_repeated =
        |(at, v): (usize, &Value)| versions[..at].iter().any(|earlier| earlier["name"] == v["name"]);
    if versions.iter().enumerate().any(is_repeated) {
        complain("must contain unique version names");
    }
    if versions.iter().filter(|v| v["storage"] == true).count() != 1 {
        complain("must have exactly one version marked as storage version");
    }
    let first = versions
        .first()
        .and_then(|v| v["name"].as_str())
        .unwrap_or_default();
    let wrong = dns_label(first);
    if !first.is_empty() && !wrong.is_empty() {
        errors.push(FieldError::invalid("spec.version", first, wrong.join(",")));
    }
}

fn check_names(names: Schema<'_>, errors: &mut Vec<FieldError>) {
    for key in ["plural", "singular", "kind", "listKind"] {
        if names.text(key).is_empty() {
            errors.push(FieldError::required(format!("spec.names.{key}"), ""));
        }
    }
    let mut check = |key: &str, name: &str, wrong: Vec<String>, prefix: &str| {
        if !wrong.is_empty() {
            let detail = format!("{prefix}{}", wrong.join(","));
            errors.push(FieldError::invalid(format!("spec.names.{key}"), name, detail));
        }
    };
    for key in ["plural", "singular"] {
        let name = names.text(key);
        if !name.is_empty() {
            check(key, name, dns_label(name), "");
        }
    }
    for key in ["kind", "listKind"] {
        let name = names.text(key);
        if !name.is_empty() {
            let wrong = dns_label(&name.to_lowercase());
            check(
                key,
                name,
                wrong,
                "may have mixed case, but should otherwise match: ",
            );
        }
    }
    for (at, name) in names.texts("shortNames").enumerate() {
        check(&format!("shortNames[{at}]"), name, dns_label(name), "");
    }
    let (kind, list_kind) = (names.text("kind"), names.text("listKind"));
    if !kind.is_empty() && kind == list_kind {
        check(
            "listKind",
            list_kind,
            vec!["kind and listKind may not be the same".into()],
            "",
        );
    }
    for (at, name) in names.texts("categories").enumerate() {
        check(&format!("categories[{at}]"), name, dns_label(name), "");
    }
}

fn check_schema(validation: &Value, has_status: bool, path: &str, errors: &mut Vec<FieldError>) {
    let schema = &validation["openAPIV3Schema"];
    if !schema.is_object() {
        return;
    }
    let path = format!("{path}.openAPIV3Schema");
    let schema = Schema(schema);
    if has_status {
        subresources::check_root(schema, &path, errors);
    }
    if schema.nullable() {
        let detail = "nullable cannot be true at the root";
        errors.push(FieldError::forbidden(format!("{path}.nullable"), detail));
    }
    let before = errors.len();
    let unsupported = structural::unsupported(schema);
    if unsupported.is_none() {
        errors.extend(structural::check(schema, &path));
        if errors.len() == before {
            errors.extend(default_values::check(schema, &path));
        }
    }
    let is_structural = unsupported.is_none() && errors.len() == before;
    let wrong = rules::check(schema, &path);
    let in_expressions = if is_structural {
        expressions::check(schema, &path, &wrong, |rule| go_format::rule(rule.0))
    } else {
        Vec::new()
    };
    errors.extend(wrong);
    errors.extend(in_expressions);
    if let Some(why) = unsupported.filter(|_| errors.len() == before) {
        errors.push(FieldError::invalid(path, "", why));
    }
}

fn check_update(crd: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let mut same = |path: &[&str]| {
        let read = |of: &Value| path.iter().fold(of["spec"].clone(), |v, key| v[*key].clone());
        let new = read(crd);
        if new != read(old) {
            errors.push(FieldError::invalid(
                format!("spec.{}", path.join(".")),
                new,
                "field is immutable",
            ));
        }
    };
    if is_established(old) {
        same(&["scope"]);
        same(&["names", "kind"]);
    }
    same(&["group"]);
    same(&["names", "plural"]);
}

fn check_stored_versions(crd: &Value, stored: &Value, errors: &mut Vec<FieldError>) {
    let field = "status.storedVersions";
    let names: Vec<&str> = stored
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if names.is_empty() {
        let detail = "must have at least one stored version";
        errors.push(FieldError::invalid(field, Value::Null, detail));
        return;
    }
    let versions = crd["spec"]["versions"].as_array().map_or(&[][..], Vec::as_slice);
    for version in versions {
        let name = version["name"].as_str().unwrap_or_default();
        if version["storage"] == true && !names.contains(&name) {
            let detail = format!("must have the storage version {name}");
            errors.push(FieldError::invalid(field, stored.clone(), detail));
        }
    }
    for (at, name) in names.iter().enumerate() {
        if !versions.iter().any(|v| v["name"] == *name) {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            );
            errors.push(FieldError::invalid(format!("{field}[{at}]"), *name, detail));
        }
    }
}
