//! Parts of a definition as the server shows them in messages: with the names they have in its memory.

use serde_json::Value;

/// How a field is written.
enum As {
    /// A text, empty if absent.
    Text,
    /// A yes or no, no if absent.
    Flag,
    /// A whole number, zero if absent.
    Count,
    /// As in JSON, null if absent.
    Plain,
    /// An object of other fields, null if absent.
    Fields(&'static [Field]),
    /// A list of such objects.
    List(&'static [Field]),
    Schema,
    Schemas,
    SchemaMap,
    Items,
    SchemaOrFlag,
}

/// Name in memory, name in JSON, and how it is written.
type Field = (&'static str, &'static str, As);

const VERSION: &[Field] = &[
    ("Name", "name", As::Text),
    ("Served", "served", As::Flag),
    ("Storage", "storage", As::Flag),
    ("Deprecated", "deprecated", As::Flag),
    ("DeprecationWarning", "deprecationWarning", As::Plain),
    (
        "Schema",
        "schema",
        As::Fields(&[("OpenAPIV3Schema", "openAPIV3Schema", As::Schema)]),
    ),
    ("Subresources", "subresources", As::Fields(SUBRESOURCES)),
    (
        "AdditionalPrinterColumns",
        "additionalPrinterColumns",
        As::List(COLUMN),
    ),
    (
        "SelectableFields",
        "selectableFields",
        As::List(&[("JSONPath", "jsonPath", As::Text)]),
    ),
];

const SUBRESOURCES: &[Field] = &[
    ("Status", "status", As::Fields(&[])),
    ("Scale", "scale", As::Fields(SCALE)),
];

const SCALE: &[Field] = &[
    ("SpecReplicasPath", "specReplicasPath", As::Text),
    ("StatusReplicasPath", "statusReplicasPath", As::Text),
    ("LabelSelectorPath", "labelSelectorPath", As::Plain),
];

const COLUMN: &[Field] = &[
    ("Name", "name", As::Text),
    ("Type", "type", As::Text),
    ("Format", "format", As::Text),
    ("Description", "description", As::Text),
    ("Priority", "priority", As::Count),
    ("JSONPath", "jsonPath", As::Text),
];

const RULE: &[Field] = &[
    ("Rule", "rule", As::Text),
    ("Message", "message", As::Text),
    ("MessageExpression", "messageExpression", As::Text),
    ("Reason", "reason", As::Plain),
    ("FieldPath", "fieldPath", As::Text),
    ("OptionalOldSelf", "optionalOldSelf", As::Plain),
];

const SCHEMA: &[Field] = &[
    ("ID", "id", As::Text),
    ("Schema", "$schema", As::Text),
    ("Ref", "$ref", As::Plain),
    ("Description", "description", As::Text),
    ("Type", "type", As::Text),
    ("Nullable", "nullable", As::Flag),
    ("Format", "format", As::Text),
    ("Title", "title", As::Text),
    ("Default", "default", As::Plain),
    ("Maximum", "maximum", As::Plain),
    ("ExclusiveMaximum", "exclusiveMaximum", As::Flag),
    ("Minimum", "minimum", As::Plain),
    ("ExclusiveMinimum", "exclusiveMinimum", As::Flag),
    ("MaxLength", "maxLength", As::Plain),
    ("MinLength", "minLength", As::Plain),
    ("Pattern", "pattern", As::Text),
    ("MaxItems", "maxItems", As::Plain),
    ("MinItems", "minItems", As::Plain),
    ("UniqueItems", "uniqueItems", As::Flag),
    ("MultipleOf", "multipleOf", As::Plain),
    ("Enum", "enum", As::Plain),
    ("MaxProperties", "maxProperties", As::Plain),
    ("MinProperties", "minProperties", As::Plain),
    ("Required", "required", As::Plain),
    ("Items", "items", As::Items),
    ("AllOf", "allOf", As::Schemas),
    ("OneOf", "oneOf", As::Schemas),
    ("AnyOf", "anyOf", As::Schemas),
    ("Not", "not", As::Schema),
    ("Properties", "properties", As::SchemaMap),
    ("AdditionalProperties", "additionalProperties", As::SchemaOrFlag),
    ("PatternProperties", "patternProperties", As::SchemaMap),
    ("Dependencies", "dependencies", As::Plain),
    ("AdditionalItems", "additionalItems", As::SchemaOrFlag),
    ("Definitions", "definitions", As::SchemaMap),
    (
        "ExternalDocs",
        "externalDocs",
        As::Fields(&[("Description", "description", As::Text), ("URL", "url", As::Text)]),
    ),
    ("Example", "example", As::Plain),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        As::Plain,
    ),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", As::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", As::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", As::Plain),
    ("XListType", "x-kubernetes-list-type", As::Plain),
    ("XMapType", "x-kubernetes-map-type", As::Plain),
    ("XValidations", "x-kubernetes-validations", As::List(RULE)),
];

/// A schema.
pub(super) fn schema(schema: &Value) -> String {
    object(schema, SCHEMA)
}

/// A CEL rule.
pub(super) fn rule(rule: &Value) -> String {
    object(rule, RULE)
}

/// The names in memory of a schema's fields that are set, in their order.
pub(super) fn set_fields(schema: &Value) -> impl Iterator<Item = &'static str> {
    let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && value != "";
    let fields = SCHEMA.iter().filter(move |(_, key, kind)| match kind {
        As::Plain | As::SchemaOrFlag => !schema[*key].is_null(),
        _ => is_set(&schema[*key]),
    });
    fields.map(|(name, _, _)| *name).collect::<Vec<_>>().into_iter()
}

/// The versions, without the parts they all have in common.
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

fn list(items: &[Value], fields: &[Field]) -> String {
    let items: Vec<String> = items.iter().map(|item| object(item, fields)).collect();
    format!("[{}]", items.join(","))
}

fn object(value: &Value, fields: &[Field]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, key, kind)| format!("\"{name}\":{}", field(&value[*key], kind)))
        .collect();
    format!("{{{}}}", fields.join(","))
}

fn field(value: &Value, kind: &As) -> String {
    match (kind, value) {
        (As::Text, Value::Null) => "\"\"".into(),
        (As::Flag, Value::Null) => "false".into(),
        (As::Count, Value::Null) => "0".into(),
        (_, Value::Null) => "null".into(),
        (As::Text | As::Flag | As::Count | As::Plain, plain) => escaped(plain),
        (As::Fields(fields), value) => object(value, fields),
        (As::List(fields), Value::Array(items)) => list(items, fields),
        (As::Schema, value) => schema(value),
        (As::Schemas, Value::Array(items)) => list(items, SCHEMA),
        (As::SchemaMap, Value::Object(entries)) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(k, v)| format!("{}:{}", escaped(&k.as_str().into()), schema(v)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        (As::Items, Value::Array(items)) => {
            format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", list(items, SCHEMA))
        }
        (As::Items, one) => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", schema(one)),
        (As::SchemaOrFlag, Value::Bool(allows)) => format!("{{\"Allows\":{allows},\"Schema\":null}}"),
        (As::SchemaOrFlag, one) => format!("{{\"Allows\":true,\"Schema\":{}}}", schema(one)),
        (_, other) => escaped(other),
    }
}

/// JSON that is safe within HTML, as Go writes it.
fn escaped(value: &Value) -> String {
    value
        .to_string()
        .replace('&', "\\u0026")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
}
