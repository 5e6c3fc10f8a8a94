//! The encoding of field sets in `managedFields`: nested objects whose keys are path elements.
//!
//! A key is `f:NAME`, `k:{KEY FIELDS}`, `v:VALUE` or `i:INDEX`. An element without nested elements is a member. An
//! element with nested elements is a member if it also contains the key `.`.

use serde_json::{Map, Value};

use super::{FieldSet, Node, PathElement};
use crate::golang::web_safe;

impl FieldSet {
    /// Decodes JSON. Elements of unknown kinds are dropped. Errors have Go's wording.
    pub(crate) fn from_json(json: &Value) -> Result<FieldSet, String> {
        match json {
            Value::Object(map) => Ok(read(map)?.0),
            Value::Null => Ok(FieldSet::default()),
            _ => Err("ReadMapCB: expect { or n".into()),
        }
    }

    /// Encodes as JSON.
    pub(crate) fn to_json(&self) -> Value {
        Value::Object(self.write(false))
    }

    fn write(&self, is_member: bool) -> Map<String, Value> {
        let mut out = Map::new();
        if is_member && !self.is_empty() {
            out.insert(".".into(), Value::Object(Map::new()));
        }
        for node in &self.0 {
            let below = node.below.write(node.is_member);
            out.insert(node.element.to_key(), Value::Object(below));
        }
        out
    }
}

/// Decodes the nested elements of an element, and whether it is a member itself.
fn read(map: &Map<String, Value>) -> Result<(FieldSet, bool), String> {
    let mut nodes = Vec::with_capacity(map.len());
    let mut is_member = false;
    for (key, value) in map {
        if key == "." {
            is_member = true;
            continue;
        }
        let Some(element) = PathElement::from_key(key)? else {
            continue;
        };
        let (below, below_is_member) = match value {
            Value::Object(map) => read(map)?,
            Value::Null => (FieldSet::default(), true),
            _ => return Err("ReadMapCB: expect { or n".into()),
        };
        nodes.push(Node {
            element,
            is_member: below_is_member,
            below,
        });
    }
    // If two keys decode to the same element, the last one wins.
    let last = |first, later: FieldSet| if later.is_empty() { first } else { later };
    let set = FieldSet::of_nodes(nodes, last);
    let is_empty = set.is_empty();
    Ok((set, is_member || is_empty))
}

impl PathElement {
    /// Decodes a key; `None` if its kind is unknown.
    fn from_key(key: &str) -> Result<Option<PathElement>, String> {
        let (Some(kind), Some(text)) = (key.get(..1), key.get(2..)) else {
            return Err("key must be 2 characters long:".into());
        };
        if key.get(1..2) != Some(":") {
            return Err(format!("missing colon: {key}"));
        }
        let element = match kind {
            "f" => PathElement::Field(text.to_owned()),
            "v" => PathElement::Value(serde_json::from_str(text).map_err(|e| e.to_string())?),
            "i" => PathElement::Index(text.parse().map_err(|_| format!("invalid index: {text}"))?),
            "k" => {
                let fields: Map<String, Value> = serde_json::from_str(text).map_err(|e| e.to_string())?;
                let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
                fields.sort_by(|(a, _), (b, _)| a.cmp(b));
                PathElement::Key(fields)
            }
            _ => return Ok(None),
        };
        Ok(Some(element))
    }

    fn to_key(&self) -> String {
        match self {
            PathElement::Field(name) => ["f:", name].concat(),
            PathElement::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| [&web_safe(name), ":", &web_safe(value)].concat())
                    .collect();
                format!("k:{{{}}}", fields.join(","))
            }
            PathElement::Value(value) => format!("v:{}", web_safe(value)),
            PathElement::Index(index) => format!("i:{index}"),
        }
    }
}
