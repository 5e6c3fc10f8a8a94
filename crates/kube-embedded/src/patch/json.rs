//! JSON patch (RFC 6902), with the extensions of the API server's library: negative indexes count from the end, missing
//! keys of objects can be replaced and copied, and a missing value equals `null` in a `test`.

use serde_json::{Map, Value};

use crate::golang::json_type_name;
use crate::status::{Result, Status};

/// Maximum number of operations in a patch.
const MAX_OPERATIONS: usize = 10_000;
/// Maximum number of bytes that `copy` adds, so that a short patch cannot double an object repeatedly.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;
/// Maximum depth of an object. Deeper objects could not be decoded, and recursion could overflow the stack.
const MAX_DEPTH: usize = 120;

/// Applies a JSON patch to an object.
pub(crate) fn apply(doc: &Value, patch: &Value) -> Result<Value> {
    let operations = match patch {
        Value::Array(operations) => operations.as_slice(),
        Value::Null => &[],
        other => return Err(undecodable(other, "Go value of type []handlers.jsonPatchOp")),
    };
    let operations: Vec<JsonPatchOperation<'_>> = operations
        .iter()
        .map(JsonPatchOperation::read)
        .collect::<Result<_>>()?;
    if operations.len() > MAX_OPERATIONS {
        let message = format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Status::new(413, "RequestEntityTooLarge", message));
    }
    let mut doc = doc.clone();
    let mut copied = 0;
    for operation in &operations {
        operation
            .perform(&mut doc, &mut copied)
            .ok_or_else(Status::unprocessable)?;
    }
    Ok(doc)
}

fn undecodable(value: &Value, into: &str) -> Status {
    Status::bad_request(format!(
        "error decoding patch: json: cannot unmarshal {} into {into}",
        json_type_name(value)
    ))
}

/// An operation of a patch. Missing and unknown fields are reported when it is performed.
struct JsonPatchOperation<'a> {
    op: &'a str,
    path: Option<&'a str>,
    from: Option<&'a str>,
    value: Option<&'a Value>,
}

impl<'a> JsonPatchOperation<'a> {
    fn read(step: &'a Value) -> Result<JsonPatchOperation<'a>> {
        let empty = JsonPatchOperation {
            op: "",
            path: None,
            from: None,
            value: None,
        };
        let fields = match step {
            Value::Object(fields) => fields,
            Value::Null => return Ok(empty),
            other => return Err(undecodable(other, "Go value of type handlers.jsonPatchOp")),
        };
        let text = |name: &str| match fields.get(name) {
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            None | Some(Value::Null) => Ok(None),
            Some(other) => {
                let into = format!("Go struct field jsonPatchOp.{name} of type string");
                Err(undecodable(other, &into))
            }
        };
        Ok(JsonPatchOperation {
            op: text("op")?.unwrap_or_default(),
            path: text("path")?,
            from: text("from")?,
            value: fields.get("value"),
        })
    }

    /// Performs the operation. Returns `None` if it does not fit the document.
    fn perform(&self, doc: &mut Value, copied: &mut usize) -> Option<()> {
        let path = self.path?;
        match self.op {
            "add" => add(doc, path, self.value.cloned().unwrap_or_default()),
            "remove" => remove(doc, path).map(drop),
            "replace" if path.is_empty() => {
                *doc = self.value.filter(|v| v.is_object() || v.is_array())?.clone();
                Some(())
            }
            "replace" => replace(doc, path, self.value.cloned().unwrap_or_default()),
            "move" => {
                let value = remove(doc, self.from?)?;
                add(doc, path, value)
            }
            "copy" => {
                let value = get(doc, self.from?)?.clone();
                *copied += value.to_string().len();
                if *copied > MAX_COPIED_BYTES {
                    return None;
                }
                add(doc, path, value)
            }
            "test" => {
                let found = if path.is_empty() { &*doc } else { get(doc, path)? };
                (found == self.value.unwrap_or(&Value::Null)).then_some(())
            }
            _ => None,
        }
    }
}

/// The container of the value at a pointer.
enum Container<'a> {
    Object(&'a mut Map<String, Value>),
    List(&'a mut Vec<Value>),
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// Returns the parent of the value at `path`, and the last token of `path`.
fn parent<'a>(doc: &'a mut Value, path: &str) -> Option<(Container<'a>, String)> {
    let (ancestors, last) = path.rsplit_once('/')?;
    let mut at = doc;
    // Text before the first slash is ignored.
    for token in ancestors.split('/').skip(1) {
        let token = unescape(token);
        at = match at {
            Value::Object(map) => map.get_mut(&token)?,
            Value::Array(items) => {
                let index = index(&token, items.len())?;
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    let container = match at {
        Value::Object(map) => Container::Object(map),
        Value::Array(items) => Container::List(items),
        _ => return None,
    };
    Some((container, unescape(last)))
}

/// Parses an index into a list of this length. A negative index counts from the end. It may be out of bounds.
fn index(token: &str, len: usize) -> Option<usize> {
    let index: i64 = token.parse().ok()?;
    if index >= 0 {
        return usize::try_from(index).ok();
    }
    len.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
}

/// Returns the value at `path`. A missing key of an object is `null`.
fn get<'a>(doc: &'a mut Value, path: &str) -> Option<&'a Value> {
    match parent(doc, path)? {
        (Container::Object(map), key) => Some(map.get(&key).unwrap_or(&Value::Null)),
        (Container::List(items), key) => {
            let index = index(&key, items.len())?;
            items.get(index)
        }
    }
}

/// Returns whether `value` at `path` does not exceed the maximum depth.
fn fits(path: &str, value: &Value) -> bool {
    path.split('/').count() + depth(value, MAX_DEPTH) <= MAX_DEPTH
}

fn add(doc: &mut Value, path: &str, value: Value) -> Option<()> {
    if !fits(path, &value) {
        return None;
    }
    match parent(doc, path)? {
        (Container::Object(map), key) => {
            map.insert(key, value);
        }
        (Container::List(items), key) if key == "-" => items.push(value),
        (Container::List(items), key) => {
            let index = index(&key, items.len() + 1).filter(|i| *i <= items.len())?;
            items.insert(index, value);
        }
    }
    Some(())
}

fn remove(doc: &mut Value, path: &str) -> Option<Value> {
    match parent(doc, path)? {
        (Container::Object(map), key) => map.remove(&key),
        (Container::List(items), key) => {
            let index = index(&key, items.len()).filter(|i| *i < items.len())?;
            Some(items.remove(index))
        }
    }
}

fn replace(doc: &mut Value, path: &str, value: Value) -> Option<()> {
    if !fits(path, &value) {
        return None;
    }
    match parent(doc, path)? {
        (Container::Object(map), key) => {
            map.insert(key, value);
        }
        (Container::List(items), key) => {
            let index = index(&key, items.len())?;
            *items.get_mut(index)? = value;
        }
    }
    Some(())
}

/// Returns the depth of a value, counting up to `limit`.
fn depth(value: &Value, limit: usize) -> usize {
    if limit == 0 {
        return 1;
    }
    let below = match value {
        Value::Array(items) => items.iter().map(|v| depth(v, limit - 1)).max(),
        Value::Object(map) => map.values().map(|v| depth(v, limit - 1)).max(),
        _ => None,
    };
    1 + below.unwrap_or(0)
}
