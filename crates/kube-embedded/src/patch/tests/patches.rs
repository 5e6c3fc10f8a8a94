use serde_json::{Value, json};

use super::deployment_type;
use crate::patch::{json, merge, strategic};
use crate::schema::Types;

#[test]
fn json_patch_has_the_results_of_the_real_server() {
    let doc = json!({"a": {"b": [1, 2, 3], "x/y": 1, "m~n": 2}, "n": null});
    for (patch, expected) in [
        (
            json!([{"op": "add", "path": "/a/b/-", "value": 4}]),
            json!([1, 2, 3, 4]),
        ),
        (
            json!([{"op": "add", "path": "/a/b/0", "value": 0}]),
            json!([0, 1, 2, 3]),
        ),
        (
            json!([{"op": "add", "path": "/a/b/3", "value": 4}]),
            json!([1, 2, 3, 4]),
        ),
        (
            json!([{"op": "add", "path": "/a/b/-1", "value": 4}]),
            json!([1, 2, 3, 4]),
        ),
        (json!([{"op": "remove", "path": "/a/b/-1"}]), json!([1, 2])),
        (
            json!([{"op": "replace", "path": "/a/b/1", "value": 9}]),
            json!([1, 9, 3]),
        ),
        (
            json!([{"op": "move", "from": "/a/b/0", "path": "/a/b/2"}]),
            json!([2, 3, 1]),
        ),
        (
            json!([{"op": "copy", "from": "/a/x~1y", "path": "/a/b/0"}]),
            json!([1, 1, 2, 3]),
        ),
        (
            json!([{"op": "test", "path": "/a/m~0n", "value": 2}]),
            json!([1, 2, 3]),
        ),
        (
            json!([{"op": "test", "path": "/missing", "value": null}]),
            json!([1, 2, 3]),
        ),
        (json!([{"op": "test", "path": "/n"}]), json!([1, 2, 3])),
        (
            json!([{"op": "replace", "path": "/missing", "value": 1}]),
            json!([1, 2, 3]),
        ),
        (
            json!([{"op": "copy", "from": "/missing", "path": "/other"}]),
            json!([1, 2, 3]),
        ),
        (Value::Null, json!([1, 2, 3])),
    ] {
        let result = json::apply(&doc, &patch).unwrap_or_else(|e| panic!("{patch}: {e}"));
        assert_eq!(result["a"]["b"], expected, "{patch}");
    }
}

#[test]
fn json_patch_has_the_errors_of_the_real_server() {
    let doc = json!({"a": {"b": [1]}, "s": "text"});
    for (patch, code) in [
        (json!([{"op": "remove", "path": "/a/x"}]), 422),
        (json!([{"op": "remove", "path": "/a/b/1"}]), 422),
        (json!([{"op": "remove", "path": "/a/b/-2"}]), 422),
        (json!([{"op": "replace", "path": "/a/b/1", "value": 1}]), 422),
        (json!([{"op": "add", "path": "/a/b/2", "value": 1}]), 422),
        (json!([{"op": "add", "path": "/a/b/x", "value": 1}]), 422),
        (json!([{"op": "add", "path": "/x/y", "value": 1}]), 422),
        (json!([{"op": "add", "path": "/s/y", "value": 1}]), 422),
        (json!([{"op": "add", "path": "", "value": {}}]), 422),
        (json!([{"op": "add"}]), 422),
        (json!([{"op": "test", "path": "/a/b/0", "value": 1.0}]), 422),
        (json!([{"op": "test", "path": "/missing", "value": 1}]), 422),
        (json!([{"op": "move", "from": "/missing", "path": "/a"}]), 422),
        (json!([{"op": "unknown", "path": "/a"}]), 422),
        (json!([{"op": "replace", "path": "", "value": 3}]), 422),
        (json!([null]), 422),
        (json!([1]), 400),
        (json!({}), 400),
        (json!([{"op": "add", "path": 5}]), 400),
    ] {
        let status = json::apply(&doc, &patch).expect_err(&patch.to_string());
        assert_eq!(status.code, code, "{patch}: {status}");
    }
    let failed = json::apply(&doc, &json!([{"op": "remove", "path": "/x"}])).expect_err("missing");
    assert_eq!(
        failed.to_json(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Invalid", "code": 422,
            "message": "the server rejected our request due to an error in our request", "details": {},
        })
    );
    let malformed = json::apply(&doc, &json!({})).expect_err("not a list");
    assert_eq!(
        malformed.message,
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
    );
    let many: Vec<Value> = (0..10_001).map(|_| json!({"op": "test", "path": "/x"})).collect();
    assert_eq!(
        json::apply(&doc, &Value::Array(many)).expect_err("too many").code,
        413
    );
}

#[test]
fn merge_patch() {
    for (doc, patch, expected) in [
        (
            json!({"a": 1, "b": 2}),
            json!({"a": null, "c": 3}),
            json!({"b": 2, "c": 3}),
        ),
        (
            json!({"a": {"x": 1}}),
            json!({"a": {"y": {"z": null}}}),
            json!({"a": {"x": 1, "y": {}}}),
        ),
        (json!({"a": [1, 2]}), json!({"a": [null]}), json!({"a": [null]})),
        (
            json!({"a": [1]}),
            json!({"a": {"b": null, "c": 1}}),
            json!({"a": {"c": 1}}),
        ),
        (json!({"a": {"b": 1}}), json!({"a": "s"}), json!({"a": "s"})),
    ] {
        assert_eq!(merge::apply(&doc, &patch), Ok(expected), "{patch}");
    }
    for patch in [json!([]), json!(null), json!(5)] {
        assert_eq!(
            merge::apply(&json!({}), &patch).expect_err("not an object").code,
            400
        );
    }
}

fn pod_spec(spec: &Value) -> Value {
    json!({"spec": {"template": {"spec": spec}}})
}

fn patched(doc: &Value, patch: &Value) -> Result<Value, crate::status::Status> {
    strategic::apply(Types::builtin(), &deployment_type(), doc, patch)
}

#[test]
fn strategic_patch_merges_lists_by_key_and_orders_them() {
    let live = pod_spec(&json!({"containers": [{"name": "c", "image": "i", "args": ["x"]}, {"name": "d"}]}));
    for (patch, expected) in [
        (
            json!({"containers": [{"name": "b", "image": "b"}, {"name": "c", "image": "j"}]}),
            json!([{"name": "b", "image": "b"}, {"name": "c", "image": "j", "args": ["x"]}, {"name": "d"}]),
        ),
        (
            json!({"$setElementOrder/containers": [{"name": "d"}, {"name": "a"}, {"name": "c"}],
                   "containers": [{"name": "a"}]}),
            json!([{"name": "d"}, {"name": "a"}, {"name": "c", "image": "i", "args": ["x"]}]),
        ),
        (
            json!({"$setElementOrder/containers": [{"name": "d"}, {"name": "c"}]}),
            json!([{"name": "d"}, {"name": "c", "image": "i", "args": ["x"]}]),
        ),
        (
            json!({"containers": [{"name": "c", "$patch": "delete"}]}),
            json!([{"name": "d"}]),
        ),
        (
            json!({"containers": [{"name": "n"}, {"$patch": "replace"}]}),
            json!([{"name": "n"}]),
        ),
        (
            json!({"containers": [{"name": "c", "args": ["y"], "image": null}]}),
            json!([{"name": "c", "args": ["y"]}, {"name": "d"}]),
        ),
    ] {
        let result = patched(&live, &pod_spec(&patch)).unwrap_or_else(|e| panic!("{patch}: {e}"));
        assert_eq!(
            result["spec"]["template"]["spec"]["containers"], expected,
            "{patch}"
        );
    }
}

#[test]
fn strategic_patch_directives() {
    let live = json!({
        "metadata": {"finalizers": ["a", "b"], "labels": {"l": "1"}},
        "spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}},
    });
    for (patch, path, expected) in [
        (
            json!({"metadata": {"finalizers": ["c", "a"]}}),
            "/metadata/finalizers",
            json!(["c", "a", "b"]),
        ),
        (
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}),
            "/metadata/finalizers",
            json!(["b"]),
        ),
        (
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["a", "c"]}}),
            "/metadata/finalizers",
            json!(["c", "b"]),
        ),
        (
            json!({"metadata": {"$setElementOrder/finalizers": ["b", "z", "a"], "finalizers": ["z"]}}),
            "/metadata/finalizers",
            json!(["b", "z", "a"]),
        ),
        (
            json!({"metadata": {"labels": {"$patch": "replace", "n": "1"}}}),
            "/metadata/labels",
            json!({"n": "1"}),
        ),
        (
            json!({"metadata": {"labels": {"$patch": "delete"}}}),
            "/metadata/labels",
            json!({}),
        ),
        (
            json!({"metadata": {"labels": {"l": null, "m": null}}}),
            "/metadata/labels",
            json!({}),
        ),
        (
            json!({"metadata": {"annotations": {"a": "1", "b": null}}}),
            "/metadata/annotations",
            json!({"a": "1"}),
        ),
        (
            json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
            "/spec/strategy",
            json!({"type": "Recreate"}),
        ),
        (
            json!({"$patch": "replace", "kind": "K"}),
            "",
            json!({"kind": "K"}),
        ),
        (json!({"$patch": "delete"}), "", json!({})),
    ] {
        let result = patched(&live, &patch).unwrap_or_else(|e| panic!("{patch}: {e}"));
        assert_eq!(result.pointer(path), Some(&expected), "{patch}");
    }
}

#[test]
fn strategic_patch_has_the_errors_of_the_real_server() {
    let mut live = pod_spec(&json!({"containers": [{"name": "c"}]}));
    live["metadata"]["finalizers"] = json!(["f"]);
    live["spec"]["strategy"] = json!({"type": "Recreate"});
    let containers = |list: Value| pod_spec(&json!({"containers": list}));
    for (patch, code, message) in [
        (
            json!([]),
            400,
            "json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            containers(json!([{"image": "i"}])),
            500,
            "map: map[image:i] does not contain declared merge key: name",
        ),
        (
            containers(json!([{"name": "c", "$patch": "odd"}])),
            500,
            "unknown patch type: odd in map: map[$patch:odd name:c]",
        ),
        (
            containers(json!([{"name": "c", "$patch": "merge"}])),
            500,
            "merging lists cannot yet be specified in the patch",
        ),
        (
            containers(json!(["x"])),
            500,
            "list element types are not identical: [[map[name:c]] [x]]",
        ),
        (
            containers(json!([null])),
            500,
            "list element types are not identical: [[map[name:c]] [<nil>]]",
        ),
        (
            pod_spec(&json!({"$setElementOrder/containers": 5})),
            500,
            "expected a []interface {}, but received a int64",
        ),
        (
            pod_spec(&json!({"$setElementOrder": []})),
            400,
            "invalid patch format of setElementOrder list",
        ),
        (
            pod_spec(&json!({"$setElementOrder/odd": [], "odd": []})),
            500,
            "unable to find api field in struct PodSpec for the json field \"odd\"",
        ),
        (
            pod_spec(&json!({"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "c"}]})),
            500,
            "The order in patch list:\n[map[name:c]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
        ),
        (
            json!({"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}}}),
            400,
            "invalid patch format of retainKeys",
        ),
        (
            pod_spec(&json!({"$setElementOrder/volumes": [["x"]], "volumes": [["x"]]})),
            500,
            "expected a map[string]interface {}, but received a []interface {}",
        ),
        (
            json!({"metadata": {"$deleteFromPrimitiveList": ["f"]}}),
            400,
            "invalid patch format of primitive list",
        ),
    ] {
        let status = patched(&live, &patch).expect_err(&patch.to_string());
        assert_eq!((status.code, status.message.as_str()), (code, message), "{patch}");
    }
}
