//! Roles and bindings that users write.

use kube_embedded::{Server, User};
use serde_json::{Value, json};

use crate::common::{RBAC, binding, core, forbidden, refusal, role, send, server};

/// A server on which `jane` may write roles and bindings, and has `get` on pods.
async fn fixture() -> Server {
    server([
        role(
            "ClusterRole",
            "writer",
            &json!([
                {
                    "apiGroups": ["rbac.authorization.k8s.io"],
                    "resources": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
                    "verbs": ["create", "update", "patch"],
                },
                { "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] },
            ]),
        ),
        binding("ClusterRoleBinding", "ClusterRole/writer", "jane"),
        role("Role", "secrets", &core(&["secrets"], &["get"])),
        binding("RoleBinding", "Role/secrets", "zed"),
    ])
    .await
}

fn refers(name: &str, role: &str) -> Value {
    let mut object = binding("RoleBinding", role, "jane");
    object["metadata"] = json!({ "name": name });
    object
}

#[tokio::test]
async fn users_cannot_grant_permissions_that_they_lack() {
    let server = fixture().await;
    let jane = server
        .client_as(&User::named("jane").group("dev"))
        .expect("a client");
    let (roles, bindings) = (
        format!("{RBAC}/namespaces/shop/roles"),
        format!("{RBAC}/namespaces/shop/rolebindings"),
    );
    let told = |what: &str, missing: &str| {
        format!(
            "{what} is forbidden: user \"jane\" (groups=[\"dev\" \"system:authenticated\"]) is attempting to grant RBAC \
             permissions not currently held:\n{missing}"
        )
    };
    let pods = |verbs: &[&str]| json!({ "metadata": { "name": "r" }, "rules": core(&["pods"], verbs) });
    let list = "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}";
    let secrets = "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}";

    let refused = send(&jane, "POST", &roles, &pods(&["get", "list"])).await;
    assert_eq!(
        forbidden(refused),
        told("roles.rbac.authorization.k8s.io \"r\"", list)
    );
    send(&jane, "POST", &roles, &pods(&["get"]))
        .await
        .expect("a role with permissions that she has");
    let refused = send(
        &jane,
        "PATCH",
        &format!("{roles}/r"),
        &json!({ "rules": core(&["pods"], &["list"]) }),
    )
    .await;
    assert_eq!(
        forbidden(refused),
        told("roles.rbac.authorization.k8s.io \"r\"", list)
    );
    let refused = send(&jane, "PUT", &format!("{roles}/new"), &{
        let mut new = pods(&["list"]);
        new["metadata"]["name"] = "new".into();
        new
    })
    .await;
    assert_eq!(
        forbidden(refused),
        told("roles.rbac.authorization.k8s.io \"new\"", list)
    );
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    let refused = send(&jane, "PATCH", &format!("{roles}/secrets"), &label).await;
    assert_eq!(
        forbidden(refused),
        told("roles.rbac.authorization.k8s.io \"secrets\"", secrets)
    );
    let free = json!({ "metadata": { "finalizers": [] } });
    send(&jane, "PATCH", &format!("{roles}/secrets"), &free)
        .await
        .expect("what garbage collection may do");

    let everything =
        "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}";
    let refused = send(
        &jane,
        "POST",
        &bindings,
        &refers("b", "ClusterRole/cluster-admin"),
    )
    .await;
    assert_eq!(
        forbidden(refused),
        told("rolebindings.rbac.authorization.k8s.io \"b\"", everything)
    );
    let refused = send(&jane, "POST", &bindings, &refers("b", "Role/secrets")).await;
    assert_eq!(
        forbidden(refused),
        told("rolebindings.rbac.authorization.k8s.io \"b\"", secrets)
    );
    let missing = send(&jane, "POST", &bindings, &refers("b", "Role/nope")).await;
    assert_eq!(
        refusal(missing),
        (
            404,
            "rolebindings.rbac.authorization.k8s.io \"nope\" not found".to_owned()
        )
    );
    send(&jane, "POST", &bindings, &refers("b", "Role/r"))
        .await
        .expect("a binding of permissions that she has");

    let aggregating = json!({
        "metadata": { "name": "c" }, "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] },
    });
    let refused = send(&jane, "POST", &format!("{RBAC}/clusterroles"), &aggregating).await;
    assert_eq!(
        forbidden(refused),
        "clusterroles.rbac.authorization.k8s.io \"c\" is forbidden: must have cluster-admin privileges to use the \
         aggregationRule"
    );
    server.stop().await;
}

#[tokio::test]
async fn escalate_and_bind_allow_granting_more() {
    let server = fixture().await;
    let jane = server.client_as(&User::named("jane")).expect("a client");
    let more = json!([
        { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["escalate"], "resourceNames": ["r"] },
        { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["bind"], "resourceNames": ["view"] },
    ]);
    server
        .load([
            role("Role", "more", &more),
            binding("RoleBinding", "Role/more", "jane"),
        ])
        .expect("objects");
    let (roles, bindings) = (
        format!("{RBAC}/namespaces/shop/roles"),
        format!("{RBAC}/namespaces/shop/rolebindings"),
    );
    let secrets = |name: &str| json!({ "metadata": { "name": name }, "rules": core(&["secrets"], &["*"]) });
    send(&jane, "POST", &roles, &secrets("r"))
        .await
        .expect("by the verb escalate");
    forbidden(send(&jane, "POST", &roles, &secrets("other")).await);
    send(&jane, "POST", &bindings, &refers("v", "ClusterRole/view"))
        .await
        .expect("by the verb bind");
    forbidden(send(&jane, "POST", &bindings, &refers("e", "ClusterRole/edit")).await);
    server.stop().await;
}
