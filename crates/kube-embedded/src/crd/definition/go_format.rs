//! Formats parts of a definition for messages, with Go's field names.

use serde_json::Value;

/// The format of a field.
enum FieldFormat {
    /// Text; empty if absent.
    Text,
    /// Boolean; false if absent.
    Flag,
    /// Integer; zero if absent.
    Count,
    /// FieldFormat in JSON; null if absent.
    Plain,
    /// An object with these fields; null if absent.
    Fields(&'static [MessageField]),
    /// A list of objects with these fields.
    List(&'static [MessageField]),
    Schema,
    Schemas,
    SchemaMap,
    Items,
    SchemaOrFlag,
}

/// Go's name, JSON's name and the format of a field.
type MessageField = (&'static str, &'static str, FieldFormat);

const VERSION: &[MessageField] = &[
    ("Name", "name", FieldFormat::Text),
    ("Served", "served", FieldFormat::Flag),
    ("Storage", "storage", FieldFormat::Flag),
    ("Deprecated", "deprecated", FieldFormat::Flag),
    ("DeprecationWarning", "deprecationWarning", FieldFormat::Plain),
    (
        "Schema",
        "schema",
        FieldFormat::Fields(&[("OpenAPIV3Schema", "openAPIV3Schema", FieldFormat::Schema)]),
    ),
    ("Subresources", "subresources", FieldFormat::Fields(SUBRESOURCES)),
    (
        "AdditionalPrinterColumns",
        "additionalPrinterColumns",
        FieldFormat::List(COLUMN),
    ),
    (
        "SelectableFields",
        "selectableFields",
        FieldFormat::List(&[("JSONPath", "jsonPath", FieldFormat::Text)]),
    ),
];

const SUBRESOURCES: &[MessageField] = &[
    ("Status", "status", FieldFormat::Fields(&[])),
    ("Scale", "scale", FieldFormat::Fields(SCALE)),
];

const SCALE: &[MessageField] = &[
    ("SpecReplicasPath", "specReplicasPath", FieldFormat::Text),
    ("StatusReplicasPath", "statusReplicasPath", FieldFormat::Text),
    ("LabelSelectorPath", "labelSelectorPath", FieldFormat::Plain),
];

const COLUMN: &[MessageField] = &[
    ("Name", "name", FieldFormat::Text),
    ("Type", "type", FieldFormat::Text),
    ("Format", "format", FieldFormat::Text),
    ("Description", "description", FieldFormat::Text),
    ("Priority", "priority", FieldFormat::Count),
    ("JSONPath", "jsonPath", FieldFormat::Text),
];

const RULE: &[MessageField] = &[
    ("Rule", "rule", FieldFormat::Text),
    ("Message", "message", FieldFormat::Text),
    ("MessageExpression", "messageExpression", FieldFormat::Text),
    ("Reason", "reason", FieldFormat::Plain),
    ("FieldPath", "fieldPath", FieldFormat::Text),
    ("OptionalOldSelf", "optionalOldSelf", FieldFormat::Plain),
];

const SCHEMA: &[MessageField] = &[
    ("ID", "id", FieldFormat::Text),
    ("Schema", "$schema", FieldFormat::Text),
    ("Ref", "$ref", FieldFormat::Plain),
    ("Description", "description", FieldFormat::Text),
    ("Type", "type", FieldFormat::Text),
    ("Nullable", "nullable", FieldFormat::Flag),
    ("Format", "format", FieldFormat::Text),
    ("Title", "title", FieldFormat::Text),
    ("Default", "default", FieldFormat::Plain),
    ("Maximum", "maximum", FieldFormat::Plain),
    ("ExclusiveMaximum", "exclusiveMaximum", FieldFormat::Flag),
    ("Minimum", "minimum", FieldFormat::Plain),
    ("ExclusiveMinimum", "exclusiveMinimum", FieldFormat::Flag),
    ("MaxLength", "maxLength", FieldFormat::Plain),
    ("MinLength", "minLength", FieldFormat::Plain),
    ("Pattern", "pattern", FieldFormat::Text),
    ("MaxItems", "maxItems", FieldFormat::Plain),
    ("MinItems", "minItems", FieldFormat::Plain),
    ("UniqueItems", "uniqueItems", FieldFormat::Flag),
    ("MultipleOf", "multipleOf", FieldFormat::Plain),
    ("Enum", "enum", FieldFormat::Plain),
    ("MaxProperties", "maxProperties", FieldFormat::Plain),
    ("MinProperties", "minProperties", FieldFormat::Plain),
    ("Required", "required", FieldFormat::Plain),
    ("Items", "items", FieldFormat::Items),
    ("AllOf", "allOf", FieldFormat::Schemas),
    ("OneOf", "oneOf", FieldFormat::Schemas),
    ("AnyOf", "anyOf", FieldFormat::Schemas),
    ("Not", "not", FieldFormat::Schema),
    ("Properties", "properties", FieldFormat::SchemaMap),
    (
        "AdditionalProperties",
        "additionalProperties",
        FieldFormat::SchemaOrFlag,
    ),
    ("PatternProperties", "patternProperties", FieldFormat::SchemaMap),
    ("Dependencies", "dependencies", FieldFormat::Plain),
    ("AdditionalItems", "additionalItems", FieldFormat::SchemaOrFlag),
    ("Definitions", "definitions", FieldFormat::SchemaMap),
    (
        "ExternalDocs",
        "externalDocs",
        FieldFormat::Fields(&[
            ("Description", "description", FieldFormat::Text),
            ("URL", "url", FieldFormat::Text),
        ]),
    ),
    ("Example", "example", FieldFormat::Plain),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        FieldFormat::Plain,
    ),
    (
        "XEmbeddedResource",
        "x-kubernetes-embedded-resource",
        FieldFormat::Flag,
    ),
    ("XIntOrString", "x-kubernetes-int-or-string", FieldFormat::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", FieldFormat::Plain),
    ("XListType", "x-kubernetes-list-type", FieldFormat::Plain),
    ("XMapType", "x-kubernetes-map-type", FieldFormat::Plain),
    (
        "XValidations",
        "x-kubernetes-validations",
        FieldFormat::List(RULE),
    ),
];

/// Formats a schema.
pub(super) fn schema(schema: &Value) -> String {
    object(schema, SCHEMA)
}

/// Formats a CEL rule.
pub(super) fn rule(rule: &Value) -> String {
    object(rule, RULE)
}

/// Returns Go's names of the fields that are set in a schema, in the order of the Go struct.
pub(super) fn set_fields(schema: &Value) -> impl Iterator<Item = &'static str> {
    let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && value != "";
    let fields = SCHEMA.iter().filter(move |(_, key, kind)| match kind {
        FieldFormat::Plain | FieldFormat::SchemaOrFlag => !schema[*key].is_null(),
        _ => is_set(&schema[*key]),
    });
    fields.map(|(name, _, _)| *name).collect::<Vec<_>>().into_iter()
}

/// Formats the versions, without their common parts.
pub(super) fn versions(versions: &[Value]) -> String {
    let mut versions = versions.to_vec();
    for key in [
        "schema",
        "subresources",
        "additionalPrinterColumns",
        "selectableFields",
    ] {
        if super::shared(&versions, key).is_some() {
            for version in versions.iter_mut().filter_map(Value::as_object_mut) {
                version.remove(key);
            }
        }
    }
    list(&versions, VERSION)
}

fn list(items: &[Value], fields: &[MessageField]) -> String {
    let items: Vec<String> = items.iter().map(|item| object(item, fields)).collect();
    format!("[{}]", items.join(","))
}

fn object(value: &Value, fields: &[MessageField]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, key, kind)| format!("\"{name}\":{}", field(&value[*key], kind)))
        .collect();
    format!("{{{}}}", fields.join(","))
}

fn field(value: &Value, kind: &FieldFormat) -> String {
    match (kind, value) {
        (FieldFormat::Text, Value::Null) => "\"\"".into(),
        (FieldFormat::Flag, Value::Null) => "false".into(),
        (FieldFormat::Count, Value::Null) => "0".into(),
        (_, Value::Null) => "null".into(),
        (FieldFormat::Text | FieldFormat::Flag | FieldFormat::Count | FieldFormat::Plain, plain) => {
            escaped(plain)
        }
        (FieldFormat::Fields(fields), value) => object(value, fields),
        (FieldFormat::List(fields), Value::Array(items)) => list(items, fields),
        (FieldFormat::Schema, value) => schema(value),
        (FieldFormat::Schemas, Value::Array(items)) => list(items, SCHEMA),
        (FieldFormat::SchemaMap, Value::Object(entries)) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(k, v)| format!("{}:{}", escaped(&k.as_str().into()), schema(v)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        (FieldFormat::Items, Value::Array(items)) => {
            format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", list(items, SCHEMA))
        }
        (FieldFormat::Items, one) => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", schema(one)),
        (FieldFormat::SchemaOrFlag, Value::Bool(allows)) => {
            format!("{{\"Allows\":{allows},\"Schema\":null}}")
        }
        (FieldFormat::SchemaOrFlag, one) => format!("{{\"Allows\":true,\"Schema\":{}}}", schema(one)),
        (_, other) => escaped(other),
    }
}

/// Formats JSON with HTML escapes, like Go.
fn escaped(value: &Value) -> String {
    value
        .to_string()
        .replace('&', "\\u0026")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
}
