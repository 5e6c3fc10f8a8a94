//! JSON patch (RFC 6902), with the liberties that the API server's library takes: indexes may count from the end, keys of
//! objects may be replaced and copied although they are missing, and a missing value equals `null` in a `test`.

use serde_json::{Map, Value};

use crate::golang::json_type_name;
use crate::status::{Result, Status};

/// More operations than this in one patch are refused.
const MAX_OPERATIONS: usize = 10_000;
/// `copy` may add this many bytes in all, so that a short patch cannot double an object again and again.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;
/// Deeper objects could not be read back, and would exhaust the stack of whoever walks them.
const MAX_DEPTH: usize = 120;

/// Applies a JSON patch to an object.
pub(crate) fn apply(doc: &Value, patch: &Value) -> Result<Value> {
    let operations = match patch {
        Value::Array(operations) => operations.as_slice(),
        Value::Null => &[],
        other => return Err(undecodable(other, "Go value of type []handlers.jsonPatchOp")),
    };
    let operations: Vec<Operation<'_>> = operations.iter().map(Operation::read).collect::<Result<_>>()?;
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

/// One step of a patch. What is missing or unknown shows when the step is performed.
struct Operation<'a> {
    op: &'a str,
    path: Option<&'a str>,
    from: Option<&'a str>,
    value: Option<&'a Value>,
}

impl<'a> Operation<'a> {
    fn read(step: &'a Value) -> Result<Operation<'a>> {
        let empty = Operation {
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
        Ok(Operation {
            op: text("op")?.unwrap_or_default(),
            path: text("path")?,
            from: text("from")?,
            value: fields.get("value"),
        })
    }

    /// `None` where the step does not fit the document.
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

/// What holds the value that a pointer points to.
enum Container<'a> {
    Object(&'a mut Map<String, Value>),
    List(&'a mut Vec<Value>),
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// The parent of the place that `path` names, and the last token of the path.
fn parent<'a>(doc: &'a mut Value, path: &str) -> Option<(Container<'a>, String)> {
    let (ancestors, last) = path.rsplit_once('/')?;
    let mut at = doc;
    // What stands before the first slash is not looked at.
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

/// An index into a list of this length; a negative one counts from the end. It may lie beyond the end.
fn index(token: &str, len: usize) -> Option<usize> {
    let index: i64 = token.parse().ok()?;
    if index >= 0 {
        return usize::try_from(index).ok();
    }
    len.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
}

/// The value at `path`. A key that an object does not have counts as `null`.
fn get<'a>(doc: &'a mut Value, path: &str) -> Option<&'a Value> {
    match parent(doc, path)? {
        (Container::Object(map), key) => Some(map.get(&key).unwrap_or(&Value::Null)),
        (Container::List(items), key) => {
            let index = index(&key, items.len())?;
            items.get(index)
        }
    }
}

/// Returns whether `value` at `path` keeps the object shallow enough.
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

/// How deep a value goes; counts no further than `limit`.
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
