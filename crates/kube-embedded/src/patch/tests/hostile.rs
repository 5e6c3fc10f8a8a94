//! Requests of clients cannot make a patch panic, loop or grow without limit.

use serde_json::{Map, Value, json};

use super::{SharedObject, config_map, config_map_type, deployment_type, minute, status_field};
use crate::patch::apply::{Apply, apply};
use crate::patch::update::{Update, record_update};
use crate::patch::{json as json_patch, merge, strategic};
use crate::schema::{Resolved, Type, Types};

/// A generator of reproducible random values.
struct RandomValues {
    state: u64,
    /// One of this many values has the wrong type.
    noise: u64,
}

impl RandomValues {
    fn below(&mut self, n: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap_or_default()]
    }

    /// Returns any value, with names that have a meaning in patches.
    fn value(&mut self, depth: u32) -> Value {
        match self.below(if depth == 0 { 6 } else { 10 }) {
            0 => Value::Null,
            1 => json!(self.below(3)),
            2 => json!(1.5),
            3 => json!(self.below(2) == 0),
            4 | 5 => json!(self.pick(&["a", "delete", "replace", "merge", "", "/metadata/name", "f:a"])),
            6 | 7 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                let names = [
                    "$patch",
                    "$retainKeys",
                    "$setElementOrder/containers",
                    "$deleteFromPrimitiveList/finalizers",
                    "$setElementOrder/finalizers",
                    "name",
                    "metadata",
                    "spec",
                    "containers",
                    "finalizers",
                    "labels",
                    "env",
                    "template",
                    "op",
                    "path",
                    "value",
                    "managedFields",
                    "ports",
                    "fieldsV1",
                    "k:{}",
                    ".",
                ];
                (0..self.below(5))
                    .map(|_| (self.pick(&names).to_owned(), self.value(depth - 1)))
                    .collect()
            }
        }
    }

    /// Returns a value of this type, with occasional errors.
    fn typed(&mut self, types: &Types, ty: &Type, depth: u32) -> Value {
        if depth == 0 || self.below(self.noise) == 0 {
            return self.value(2);
        }
        match types.resolve(ty) {
            Resolved::Struct(s) => {
                let mut out = Map::new();
                for field in &s.fields {
                    if field.required
                        || field.name == "metadata"
                        || field.name == "spec"
                        || self.below(8) == 0
                    {
                        out.insert(field.name.clone(), self.typed(types, &field.ty, depth - 1));
                    }
                }
                Value::Object(out)
            }
            Resolved::List(item) => (0..self.below(4))
                .map(|_| self.typed(types, item, depth - 1))
                .collect(),
            Resolved::Map(value) => (0..self.below(3))
                .map(|n| (format!("k{n}"), self.typed(types, value, depth - 1)))
                .collect(),
            Resolved::Scalar(Type::String | Type::Bytes | Type::Time) => json!(self.pick(&["a", "b"])),
            Resolved::Scalar(Type::Bool) => json!(self.below(2) == 0),
            Resolved::Scalar(Type::Any) => self.value(2),
            Resolved::Scalar(_) => json!(self.below(3)),
        }
    }
}

#[test]
fn random_patches_do_not_panic() {
    let (types, ty) = (Types::builtin(), deployment_type());
    let mut random = RandomValues {
        state: 0x9E37_79B9_7F4A_7C15,
        noise: 40,
    };
    for _ in 0..3000 {
        let doc = if random.below(2) == 0 {
            random.typed(types, &ty, 7)
        } else {
            random.value(4)
        };
        let patch = if random.below(2) == 0 {
            random.typed(types, &ty, 7)
        } else {
            random.value(4)
        };
        let _ = json_patch::apply(&doc, &patch);
        let _ = merge::apply(&doc, &patch);
        let _ = strategic::apply(types, &ty, &doc, &patch);
        let mut new = patch.clone();
        let write = Update {
            types,
            ty: &ty,
            api_version: "apps/v1",
            old: Some(&doc),
            manager: "m",
            subresource: "",
            reset: &status_field(),
            now: minute(0),
        };
        record_update(write, &mut new);
    }
}

#[test]
fn repeated_applies_converge() {
    let (types, ty, reset) = (Types::builtin(), deployment_type(), status_field());
    let mut random = RandomValues { state: 7, noise: 400 };
    let mut object: Option<Value> = None;
    let mut applied = 0;
    for n in 0..1500 {
        let mut config = random.typed(types, &ty, 6);
        if !config.is_object() {
            continue;
        }
        config["apiVersion"] = "apps/v1".into();
        config["kind"] = "Deployment".into();
        if let Some(metadata) = config["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        let manager = random.pick(&["one", "two", "three"]);
        let request = |live, now| {
            apply(Apply {
                types,
                ty: &ty,
                api_version: "apps/v1",
                kind: "Deployment",
                live,
                config: &config,
                manager,
                force: true,
                subresource: "",
                reset: &reset,
                now: minute(now),
            })
        };
        let Ok(once) = request(object.as_ref(), n) else {
            continue;
        };
        // An empty object in the configuration removes the content of the live one, and exists afterwards.
        let twice = request(Some(&once), n + 1).expect("it was accepted before");
        let thrice = request(Some(&twice), n + 2).expect("it was accepted before");
        assert_eq!(twice.to_string(), thrice.to_string(), "{config}");
        applied += 1;
        object = Some(once);
    }
    assert!(applied > 100, "only {applied} configurations were valid");
}

#[test]
fn a_json_patch_cannot_grow_an_object_without_limit() {
    let doc = json!({"a": {"text": "0123456789"}});
    let doubling: Value = (0..40)
        .map(|n| json!({"op": "copy", "from": "/a", "path": format!("/a/{n}")}))
        .collect();
    assert_eq!(
        json_patch::apply(&doc, &doubling).expect_err("too much").code,
        422
    );

    let mut path = String::new();
    let deepening: Value = (0..500)
        .map(|_| {
            path += "/x";
            json!({"op": "add", "path": path, "value": {}})
        })
        .collect();
    assert_eq!(
        json_patch::apply(&json!({}), &deepening)
            .expect_err("too deep")
            .code,
        422
    );
}

#[test]
fn invalid_managed_fields_are_ignored() {
    let entry = |fields: Value| json!([{"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}]);
    for entries in [
        json!("text"),
        json!([1]),
        json!([null]),
        entry(json!("text")),
        entry(json!({"f:data": {"k:{\"a\":1}": {}, "i:5": {"f:x": {}}}, "v:{}": {}})),
        entry(json!({"f:metadata": {"f:name": {}, "f:labels": {"f:gone": {"f:deeper": {}}}}})),
    ] {
        let mut shared = SharedObject::new(config_map_type());
        let mut object = config_map(json!({"a": "1"}));
        object["metadata"]["managedFields"] = entries;
        shared.update("m", object);
        let _ = shared.try_apply("m", true, &config_map(json!({"b": "2"})));
        let _ = shared.edit("m", |o| o["data"]["c"] = "3".into());
    }
}
