//! Reviews of permissions.

use kube_embedded::User;
use serde_json::{Value, json};

use crate::common::{binding, core, forbidden, refusal, role, send, server};

const AUTHORIZATION: &str = "/apis/authorization.k8s.io/v1";

async fn fixture() -> kube_embedded::Server {
    server([
        role("Role", "reader", &core(&["pods"], &["get"])),
        binding("RoleBinding", "Role/reader", "jane"),
        binding("RoleBinding", "Role/gone", "mint"),
        binding("ClusterRoleBinding", "ClusterRole/system:auth-delegator", "proxy"),
    ])
    .await
}

fn resource(verb: &str, namespace: &str) -> Value {
    json!({ "verb": verb, "resource": "pods", "namespace": namespace })
}

#[tokio::test]
async fn self_subject_access_reviews_use_the_policy() {
    let server = fixture().await;
    let reviews = format!("{AUTHORIZATION}/selfsubjectaccessreviews");
    let because = "RBAC: allowed by RoleBinding \"reader-jane/shop\" of Role \"reader\" to User \"jane\"";
    let discovery = "RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \"system:discovery\" to Group \
                     \"system:authenticated\"";
    let missing = "RBAC: role.rbac.authorization.k8s.io \"gone\" not found";
    for (user, spec, status) in [
        (
            "jane",
            json!({ "resourceAttributes": resource("get", "shop") }),
            json!({ "allowed": true, "reason": because }),
        ),
        (
            "jane",
            json!({ "resourceAttributes": resource("get", "other") }),
            json!({ "allowed": false }),
        ),
        (
            "jane",
            json!({ "resourceAttributes": resource("list", "shop") }),
            json!({ "allowed": false }),
        ),
        (
            "jane",
            json!({ "nonResourceAttributes": { "verb": "get", "path": "/version" } }),
            json!({ "allowed": true, "reason": discovery }),
        ),
        (
            "mint",
            json!({ "resourceAttributes": resource("get", "shop") }),
            json!({ "allowed": false, "reason": missing }),
        ),
    ] {
        let client = server.direct_client_as(&User::named(user));
        let answer = send(&client, "POST", &reviews, &json!({ "spec": spec }))
            .await
            .expect("a review");
        assert_eq!(answer["status"], status, "{user}: {spec}");
        assert_eq!(answer["spec"], spec);
    }
    let nothing = send(&server.direct_client(), "POST", &reviews, &json!({ "spec": {} })).await;
    let why = ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of \
               nonResourceAttributes or resourceAttributes must be specified";
    assert_eq!(refusal(nothing), (422, why.to_owned()));
    server.stop().await;
}

#[tokio::test]
async fn subject_access_reviews_check_other_users() {
    let server = fixture().await;
    let reviews = format!("{AUTHORIZATION}/subjectaccessreviews");
    let jane = server.direct_client_as(&User::named("jane"));
    let about =
        |user: &str, attributes: Value| json!({ "spec": { "user": user, "resourceAttributes": attributes } });
    forbidden(send(&jane, "POST", &reviews, &about("jane", resource("get", "shop"))).await);
    let proxy = server.direct_client_as(&User::named("proxy"));
    for (question, allowed) in [
        (about("jane", resource("get", "shop")), true),
        (about("joe", resource("get", "shop")), false),
        (
            json!({ "spec": { "groups": ["system:masters"], "resourceAttributes": resource("delete", "shop") } }),
            true,
        ),
    ] {
        let answer = send(&proxy, "POST", &reviews, &question).await.expect("a review");
        assert_eq!(answer["status"]["allowed"], allowed, "{question}");
    }
    let without_user = send(
        &proxy,
        "POST",
        &reviews,
        &json!({ "spec": { "resourceAttributes": resource("get", "shop") } }),
    )
    .await;
    let why = ".authorization.k8s.io \"\" is invalid: spec.user: Invalid value: \"\": at least one of user or group must be \
               specified";
    assert_eq!(refusal(without_user), (422, why.to_owned()));

    let local = format!("{AUTHORIZATION}/namespaces/shop/localsubjectaccessreviews");
    let admin = server.direct_client();
    let answer = send(&admin, "POST", &local, &about("jane", resource("get", "shop")))
        .await
        .expect("a review");
    assert_eq!(answer["status"]["allowed"], true);
    let elsewhere = send(&admin, "POST", &local, &about("jane", resource("get", "other"))).await;
    let why = ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes.namespace: Invalid value: \"other\": must match \
               metadata.namespace";
    assert_eq!(refusal(elsewhere), (422, why.to_owned()));
    server.stop().await;
}

#[tokio::test]
async fn rules_review_lists_the_rules_of_the_user() {
    let server = fixture().await;
    let reviews = format!("{AUTHORIZATION}/selfsubjectrulesreviews");
    let own = json!([
        {
            "verbs": ["create"], "apiGroups": ["authorization.k8s.io"],
            "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        },
        { "verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"] },
        { "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] },
    ]);
    let jane = server.direct_client_as(&User::named("jane"));
    let question = json!({ "spec": { "namespace": "shop" } });
    let answer = send(&jane, "POST", &reviews, &question).await.expect("a review");
    assert_eq!(answer["status"]["resourceRules"], own);
    assert_eq!(
        answer["status"]["nonResourceRules"].as_array().map(Vec::len),
        Some(2)
    );
    assert_eq!(answer["status"]["incomplete"], false);
    let mint = server.direct_client_as(&User::named("mint"));
    let answer = send(&mint, "POST", &reviews, &question).await.expect("a review");
    let missing = "role.rbac.authorization.k8s.io \"gone\" not found";
    assert_eq!(answer["status"]["evaluationError"], missing);
    let nowhere = send(&jane, "POST", &reviews, &json!({ "spec": {} })).await;
    assert_eq!(refusal(nowhere), (400, "no namespace on request".to_owned()));
    server.stop().await;
}
