//! Tables of actions, rules and decisions.

use std::sync::Arc;

use http::Method;
use ring::hmac;
use serde_json::{Value, json};

use super::action::{Action, ActionTarget};
use super::escalation::{RoleWrite, check_escalation};
use super::policy::{Policy, authorize};
use super::{Access, Authorization, User, aggregated_rules, bootstrap_objects, forbidden};
use crate::store::{EventKind, Key, Store, Stored, Write};

/// Returns the action of a request line such as `GET /api/v1/pods?watch=1`.
fn action(line: &str) -> Action {
    let (method, url) = line.split_once(' ').expect("a method");
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let parameter = |name: &str| {
        let pairs = form_urlencoded::parse(query.as_bytes()).into_owned();
        pairs.into_iter().find(|(n, _)| n == name).map(|(_, value)| value)
    };
    let method = Method::from_bytes(method.as_bytes()).expect("a method");
    let watch = parameter("watch").is_some_and(|value| value != "false");
    Action::of_request(
        &method,
        path,
        watch,
        &parameter("fieldSelector").unwrap_or_default(),
    )
}

fn stored(object: &Value) -> Arc<Stored> {
    let metadata = &object["metadata"];
    let key = Key::new(
        metadata["namespace"].as_str(),
        metadata["name"].as_str().expect("a name"),
    );
    let mut object = object.clone();
    Arc::new(Stored::encode(
        EventKind::Added,
        key,
        1,
        &mut object,
        Box::default(),
        0,
    ))
}

fn policy(objects: &[Value]) -> Policy {
    let of = |kind: &str| -> Vec<Arc<Stored>> {
        objects.iter().filter(|o| o["kind"] == kind).map(stored).collect()
    };
    Policy::of(
        &of("Role"),
        &of("ClusterRole"),
        &of("RoleBinding"),
        &of("ClusterRoleBinding"),
        None,
    )
}

fn role(kind: &str, namespace: Option<&str>, name: &str, rules: &Value) -> Value {
    json!({ "kind": kind, "metadata": { "name": name, "namespace": namespace }, "rules": rules })
}

/// Returns a binding with the same name as the role, which is `Role/name` or `ClusterRole/name`.
fn binding(namespace: Option<&str>, role: &str, subjects: &Value) -> Value {
    let (kind, name) = role.split_once('/').expect("a kind");
    json!({
        "kind": if namespace.is_some() { "RoleBinding" } else { "ClusterRoleBinding" },
        "metadata": { "name": name, "namespace": namespace },
        "roleRef": { "kind": kind, "name": name },
        "subjects": subjects,
    })
}

fn rules_for_jane(rules: &Value) -> Policy {
    policy(&[
        role("ClusterRole", None, "jane", rules),
        binding(
            None,
            "ClusterRole/jane",
            &json!([{ "kind": "User", "name": "jane" }]),
        ),
    ])
}

fn allows(policy: &Policy, user: &User, line: &str) -> bool {
    authorize(policy, user, &action(line)).is_allowed()
}

/// Requests and their actions, as in the 403 of a real server.
const ACTIONS: &[(&str, &str)] = &[
    ("GET /api/v1/pods", "list pods"),
    ("GET /api/v1/namespaces/shop/pods", "list pods in shop"),
    ("GET /api/v1/namespaces/shop/pods/", "list pods in shop"),
    ("GET /api/v1/namespaces/shop/pods/a", "get pods in shop named a"),
    ("HEAD /api/v1/namespaces/shop/pods/a", "get pods in shop named a"),
    (
        "GET /api/v1/namespaces/shop/pods/a/log",
        "get pods/log in shop named a",
    ),
    (
        "GET /api/v1/namespaces/shop/pods/a/proxy/x/y",
        "get pods/proxy in shop named a",
    ),
    (
        "PATCH /apis/apps/v1/namespaces/shop/deployments/a/scale",
        "patch apps:deployments/scale in shop named a",
    ),
    ("GET /apis/apps/v1/deployments?watch=1", "watch apps:deployments"),
    ("GET /api/v1/pods?watch=false", "list pods"),
    (
        "GET /api/v1/namespaces/shop/secrets/s?watch=true",
        "get secrets in shop named s",
    ),
    (
        "GET /api/v1/watch/namespaces/shop/pods/a",
        "watch pods in shop named a",
    ),
    (
        "GET /api/v1/pods?fieldSelector=metadata.name%3Da",
        "list pods named a",
    ),
    (
        "GET /api/v1/pods?watch=1&fieldSelector=status.phase%3DRunning,metadata.name%3D%3Da",
        "watch pods named a",
    ),
    ("GET /api/v1/pods?fieldSelector=metadata.name!%3Da", "list pods"),
    ("GET /api/v1/pods?fieldSelector=metadata.name%3D..", "list pods"),
    (
        "DELETE /api/v1/namespaces/shop/pods?fieldSelector=metadata.name%3Da",
        "deletecollection pods in shop",
    ),
    (
        "DELETE /api/v1/namespaces/shop/pods/a",
        "delete pods in shop named a",
    ),
    (
        "PUT /api/v1/namespaces/shop/pods/a",
        "update pods in shop named a",
    ),
    ("POST /api/v1/namespaces/shop/pods", "create pods in shop"),
    (
        "POST /api/v1/namespaces/shop/pods/a/exec",
        "create pods/exec in shop named a",
    ),
    ("GET /api/v1/namespaces", "list namespaces"),
    ("GET /api/v1/namespaces/shop", "get namespaces in shop named shop"),
    (
        "PUT /api/v1/namespaces/shop/finalize",
        "update namespaces/finalize in shop named shop",
    ),
    (
        "GET /api/v1/namespaces/shop/status",
        "get namespaces/status in shop named shop",
    ),
    ("GET /api/v1/namespaces/a%2Fb/secrets", "get b in a named secrets"),
    ("GET /api/v1/nosuch", "list nosuch"),
    ("OPTIONS /api/v1/pods", " pods"),
    ("GET /", "get path /"),
    ("POST /version", "post path /version"),
    ("GET /api/v1", "get path /api/v1"),
    ("GET /apis/apps/v1", "get path /apis/apps/v1"),
    ("GET /metrics/slis", "get path /metrics/slis"),
];

/// Formats an action for the table.
fn short(action: &Action) -> String {
    let verb = &action.verb;
    match &action.target {
        ActionTarget::Path(path) => format!("{verb} path {path}"),
        ActionTarget::Resource {
            group,
            resource,
            subresource,
            namespace,
            name,
        } => {
            let with = |before: &str, text: &str, after: &str| match text {
                "" => String::new(),
                text => format!("{before}{text}{after}"),
            };
            let (group, part) = (with("", group, ":"), with("/", subresource, ""));
            let (namespace, name) = (with(" in ", namespace, ""), with(" named ", name, ""));
            format!("{verb} {group}{resource}{part}{namespace}{name}")
        }
    }
}

#[test]
fn actions_of_requests_are_those_of_the_real_server() {
    for (line, expected) in ACTIONS {
        assert_eq!(short(&action(line)), *expected, "{line}");
    }
}

#[test]
fn messages_of_forbidden_actions_are_those_of_the_real_server() {
    for (line, message) in [
        (
            "GET /api/v1/pods",
            "pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" at the cluster scope",
        ),
        (
            "GET /api/v1/namespaces/shop/pods/a/log",
            "pods \"a\" is forbidden: User \"jane\" cannot get resource \"pods/log\" in API group \"\" in the namespace \
             \"shop\"",
        ),
        (
            "GET /apis/apps/v1/deployments?watch=1",
            "deployments.apps is forbidden: User \"jane\" cannot watch resource \"deployments\" in API group \"apps\" at the \
             cluster scope",
        ),
        (
            "GET /metrics",
            "forbidden: User \"jane\" cannot get path \"/metrics\"",
        ),
        (
            "GET /api/v1/namespaces/shop//pods",
            "forbidden: User \"jane\" cannot get resource \"\" in API group \"\" in the namespace \"shop\"",
        ),
    ] {
        assert_eq!(
            forbidden(&User::named("jane"), &action(line), "").message,
            message,
            "{line}"
        );
    }
}

#[test]
fn rules_allow_their_verbs_and_resources() {
    let on = |groups: Value, resources: Value, verbs: Value| json!([{ "apiGroups": groups, "resources": resources, "verbs": verbs }]);
    let named = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["*"], "resourceNames": ["a"] }]);
    let paths = json!([{ "nonResourceURLs": ["/healthz", "/apis/*"], "verbs": ["get"] }]);
    let pods = "/api/v1/namespaces/shop/pods";
    for (rules, line, expected) in [
        (
            on(json!([""]), json!(["pods"]), json!(["list"])),
            format!("GET {pods}"),
            true,
        ),
        (
            on(json!([""]), json!(["pods"]), json!(["list"])),
            "GET /api/v1/pods".into(),
            true,
        ),
        (
            on(json!([""]), json!(["pods"]), json!(["list"])),
            format!("GET {pods}?watch=1"),
            false,
        ),
        (
            on(json!([""]), json!(["pods"]), json!(["watch"])),
            format!("GET {pods}?watch=1"),
            true,
        ),
        (
            on(json!([""]), json!(["pods"]), json!(["delete"])),
            format!("DELETE {pods}"),
            false,
        ),
        (
            on(json!([""]), json!(["pods"]), json!(["deletecollection"])),
            format!("DELETE {pods}"),
            true,
        ),
        (
            on(json!([""]), json!(["pods"]), json!(["*"])),
            format!("DELETE {pods}"),
            true,
        ),
        (
            on(json!(["apps"]), json!(["pods"]), json!(["list"])),
            format!("GET {pods}"),
            false,
        ),
        (
            on(json!(["*"]), json!(["pods"]), json!(["list"])),
            format!("GET {pods}"),
            true,
        ),
        // A resource and its subresources are granted separately, or all at once.
        (
            on(json!([""]), json!(["pods"]), json!(["get"])),
            format!("GET {pods}/a/log"),
            false,
        ),
        (
            on(json!([""]), json!(["pods/log"]), json!(["get"])),
            format!("GET {pods}/a/log"),
            true,
        ),
        (
            on(json!([""]), json!(["pods/log"]), json!(["get"])),
            format!("GET {pods}/a"),
            false,
        ),
        (
            on(json!([""]), json!(["*/log"]), json!(["get"])),
            format!("GET {pods}/a/log"),
            true,
        ),
        (
            on(json!([""]), json!(["*/log"]), json!(["get"])),
            format!("GET {pods}/a"),
            false,
        ),
        (
            on(json!([""]), json!(["pods/*"]), json!(["get"])),
            format!("GET {pods}/a/log"),
            false,
        ),
        (
            on(json!([""]), json!(["*"]), json!(["get"])),
            format!("GET {pods}/a/log"),
            true,
        ),
        // Names restrict. Requests without a name are not for a named object.
        (named.clone(), format!("GET {pods}/a"), true),
        (named.clone(), format!("GET {pods}/b"), false),
        (named.clone(), format!("GET {pods}"), false),
        (named.clone(), format!("POST {pods}"), false),
        (
            named.clone(),
            format!("GET {pods}?fieldSelector=metadata.name%3Da"),
            true,
        ),
        (
            named.clone(),
            format!("GET {pods}?watch=1&fieldSelector=metadata.name%3D%3Da"),
            true,
        ),
        (
            named,
            format!("GET {pods}?fieldSelector=metadata.name!%3Da"),
            false,
        ),
        (paths.clone(), "GET /healthz".into(), true),
        (paths.clone(), "GET /healthz/ping".into(), false),
        (paths.clone(), "GET /apis/apps".into(), true),
        (paths.clone(), "GET /apis".into(), false),
        (paths.clone(), "POST /healthz".into(), false),
        (paths, format!("GET {pods}"), false),
        (
            on(json!(["*"]), json!(["*"]), json!(["*"])),
            "GET /healthz".into(),
            false,
        ),
        (
            json!([{ "nonResourceURLs": ["*"], "verbs": ["*"] }]),
            "GET /anything".into(),
            true,
        ),
        (Value::Null, format!("GET {pods}"), false),
    ] {
        let policy = rules_for_jane(&rules);
        assert_eq!(
            allows(&policy, &User::named("jane"), &line),
            expected,
            "{line} by {rules}"
        );
        assert!(
            !allows(&policy, &User::named("joe"), &line),
            "{line} of joe by {rules}"
        );
    }
}

#[test]
fn bindings_grant_to_their_subjects_in_their_namespace() {
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }]);
    let [here, there, all] = [
        "GET /api/v1/namespaces/shop/pods",
        "GET /api/v1/namespaces/other/pods",
        "GET /api/v1/pods",
    ];
    let (within, everywhere): (&[&str], &[&str]) = (&[here], &[here, there, all]);
    let jane = User::named("jane").group("dev");
    let account = User::service_account("shop", "op");
    let shop = Some("shop");
    let subject = |kind: &str, name: &str| json!([{ "kind": kind, "name": name }]);
    let account_in =
        |namespace: &str| json!([{ "kind": "ServiceAccount", "name": "op", "namespace": namespace }]);
    let all_accounts = "system:serviceaccounts";
    for (namespace, role_name, subjects, user, allowed) in [
        (shop, "Role/r", subject("User", "jane"), &jane, within),
        (shop, "ClusterRole/r", subject("User", "jane"), &jane, within),
        (None, "ClusterRole/r", subject("User", "jane"), &jane, everywhere),
        (shop, "Role/r", subject("Group", "dev"), &jane, within),
        (shop, "Role/r", subject("Group", "jane"), &jane, &[]),
        (shop, "Role/r", subject("User", "dev"), &jane, &[]),
        // A ClusterRoleBinding cannot grant a Role.
        (None, "Role/r", subject("User", "jane"), &jane, &[]),
        (shop, "Role/r", account_in("shop"), &account, within),
        (shop, "Role/r", account_in("other"), &account, &[]),
        (shop, "Role/r", subject("ServiceAccount", "op"), &account, within),
        (
            None,
            "ClusterRole/r",
            subject("Group", all_accounts),
            &account,
            everywhere,
        ),
        (
            None,
            "ClusterRole/r",
            subject("Group", "system:serviceaccounts:shop"),
            &account,
            everywhere,
        ),
        (
            shop,
            "Role/r",
            subject("User", "system:serviceaccount:shop:op"),
            &account,
            within,
        ),
    ] {
        let binding = binding(namespace, role_name, &subjects);
        let policy = policy(&[
            role("Role", shop, "r", &rules),
            role("ClusterRole", None, "r", &rules),
            binding.clone(),
        ]);
        for line in [here, there, all] {
            assert_eq!(
                allows(&policy, user, line),
                allowed.contains(&line),
                "{line} by {binding}"
            );
        }
    }
}

#[test]
fn members_of_system_masters_need_no_role() {
    let admin = User::named("x").group("system:masters");
    assert!(allows(
        &Policy::default(),
        &admin,
        "DELETE /api/v1/namespaces/kube-system"
    ));
}

#[test]
fn reasons_of_decisions_are_those_of_the_real_server() {
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }]);
    let policy = policy(&[
        role("Role", Some("shop"), "r", &rules),
        role("ClusterRole", None, "c", &rules),
        binding(
            Some("shop"),
            "Role/r",
            &json!([{ "kind": "ServiceAccount", "name": "op" }]),
        ),
        binding(
            None,
            "ClusterRole/c",
            &json!([{ "kind": "User", "name": "jane" }]),
        ),
        binding(
            Some("shop"),
            "Role/nope",
            &json!([{ "kind": "User", "name": "mint" }]),
        ),
        binding(
            Some("shop"),
            "ClusterRole/nope2",
            &json!([{ "kind": "User", "name": "mint" }]),
        ),
        binding(
            Some("other"),
            "Role/one",
            &json!([{ "kind": "User", "name": "mint" }]),
        ),
    ]);
    for (user, line, reason) in [
        (
            User::named("jane"),
            "GET /api/v1/pods",
            "RBAC: allowed by ClusterRoleBinding \"c\" of ClusterRole \"c\" to User \"jane\"",
        ),
        (
            User::service_account("shop", "op"),
            "GET /api/v1/namespaces/shop/pods",
            "RBAC: allowed by RoleBinding \"r/shop\" of Role \"r\" to ServiceAccount \"op/shop\"",
        ),
        (
            User::named("mint"),
            "GET /api/v1/namespaces/shop/pods",
            "RBAC: [role.rbac.authorization.k8s.io \"nope\" not found, clusterrole.rbac.authorization.k8s.io \"nope2\" not \
             found]",
        ),
        (
            User::named("mint"),
            "GET /api/v1/namespaces/other/pods",
            "RBAC: role.rbac.authorization.k8s.io \"one\" not found",
        ),
        (User::named("joe"), "GET /api/v1/pods", ""),
    ] {
        assert_eq!(
            authorize(&policy, &user, &action(line)).reason(),
            reason,
            "{line}"
        );
    }
}

/// Returns the error of a user with `held` rules who creates a Role with `wanted` rules.
fn escalation(held: &Value, wanted: &Value) -> Option<String> {
    let new = role("Role", Some("shop"), "r1", wanted);
    let write = RoleWrite {
        kind: "Role",
        resource: "roles",
        namespace: Some("shop"),
        old: None,
        new: &new,
    };
    let jane = User::named("jane").group("dev").with_implied_groups();
    check_escalation(&rules_for_jane(held), &jane, write)
        .err()
        .map(|status| status.message)
}

#[test]
fn users_can_only_grant_permissions_that_they_have() {
    let rule = |groups: &[&str], resources: &[&str], verbs: &[&str]| json!({ "apiGroups": groups, "resources": resources, "verbs": verbs });
    let named = |name: &str| json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": [name] });
    let path = |url: &str| json!({ "nonResourceURLs": [url], "verbs": ["get"] });
    for (held, wanted) in [
        (
            json!([rule(&[""], &["pods"], &["get", "list"])]),
            json!([rule(&[""], &["pods"], &["get"])]),
        ),
        // Several rules together can cover one.
        (
            json!([
                rule(&[""], &["pods"], &["get"]),
                rule(&[""], &["pods"], &["list"])
            ]),
            json!([rule(&[""], &["pods"], &["get", "list"])]),
        ),
        (
            json!([rule(&["*"], &["*"], &["*"])]),
            json!([rule(&["apps"], &["deployments/scale"], &["*"])]),
        ),
        (
            json!([rule(&["*"], &["*/scale"], &["*"])]),
            json!([rule(&["apps"], &["*/scale", "deployments/scale"], &["get"])]),
        ),
        (json!([rule(&[""], &["pods"], &["get"])]), json!([named("a")])),
        (json!([named("a")]), json!([named("a")])),
        (
            json!([path("/metrics/*")]),
            json!([path("/metrics/x"), path("/metrics/x/*")]),
        ),
        (
            json!([rule(&["rbac.authorization.k8s.io"], &["roles"], &["escalate"])]),
            json!([rule(&["*"], &["*"], &["*"])]),
        ),
    ] {
        assert_eq!(escalation(&held, &wanted), None, "{wanted} with {held}");
    }
    for (held, wanted, missing) in [
        (
            json!([rule(&[""], &["pods"], &["get"])]),
            json!([
                rule(&[""], &["pods"], &["get", "list", "watch"]),
                { "apiGroups": ["apps", ""], "resources": ["deployments"], "verbs": ["*"], "resourceNames": ["x"] },
            ]),
            "{APIGroups:[\"\"], Resources:[\"deployments\"], ResourceNames:[\"x\"], Verbs:[\"*\"]}\n\
             {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\" \"watch\"]}\n\
             {APIGroups:[\"apps\"], Resources:[\"deployments\"], ResourceNames:[\"x\"], Verbs:[\"*\"]}",
        ),
        (
            json!([path("/metrics")]),
            json!([path("/metrics"), path("/x*")]),
            "{NonResourceURLs:[\"/x*\"], Verbs:[\"get\"]}",
        ),
        (
            json!([named("a")]),
            json!([rule(&[""], &["pods"], &["get"])]),
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}",
        ),
        (
            json!([rule(&[""], &["pods"], &["get"])]),
            json!([rule(&[""], &["*"], &["get"])]),
            "{APIGroups:[\"\"], Resources:[\"*\"], Verbs:[\"get\"]}",
        ),
        (
            json!([rule(&[""], &["pods"], &["get"])]),
            json!([rule(&[""], &["pods"], &["*"])]),
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"*\"]}",
        ),
    ] {
        let told = format!(
            "roles.rbac.authorization.k8s.io \"r1\" is forbidden: user \"jane\" (groups=[\"dev\" \"system:authenticated\"]) is \
             attempting to grant RBAC permissions not currently held:\n{missing}"
        );
        assert_eq!(escalation(&held, &wanted), Some(told), "{wanted} with {held}");
    }
}

#[test]
fn bootstrap_roles_are_complete_and_aggregated() {
    let objects = bootstrap_objects();
    let names = |kind: &str| -> Vec<&str> {
        let of_kind = objects.iter().filter(|o| o["kind"] == kind);
        of_kind.filter_map(|o| o["metadata"]["name"].as_str()).collect()
    };
    for name in [
        "cluster-admin",
        "admin",
        "edit",
        "view",
        "system:discovery",
        "system:basic-user",
        "system:public-info-viewer",
    ] {
        assert!(names("ClusterRole").contains(&name), "{name}");
    }
    assert_eq!(
        names("ClusterRoleBinding"),
        [
            "cluster-admin",
            "system:basic-user",
            "system:discovery",
            "system:public-info-viewer"
        ]
    );
    let outdated = aggregated_rules(&policy(&objects));
    let outdated: Vec<&str> = outdated.iter().map(|(role, _)| role.key.name()).collect();
    assert_eq!(outdated, ["admin", "edit", "view"]);
}

#[test]
fn the_policy_is_rebuilt_only_after_a_change() {
    let store = Store::new(10);
    let access = Access::new(Authorization::Rbac, hmac::Key::new(hmac::HMAC_SHA256, b"test"));
    let write = |collection: &str, object: Value, expected: Option<u64>| {
        let kind = if expected.is_some() {
            EventKind::Modified
        } else {
            EventKind::Added
        };
        let write = Write {
            collection: &collection.into(),
            key: Key::new(None, object["metadata"]["name"].as_str().expect("a name")),
            expected,
            kind,
            object,
            fields: Box::default(),
            schema: 0,
        };
        store.write(write).expect("written").revision
    };
    let roles = "rbac.authorization.k8s.io/clusterroles";
    let rule = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }]);
    let subjects = json!([{ "kind": "User", "name": "jane" }]);
    let jane = User::named("jane");
    let may_list = || allows(&access.policy(&store), &jane, "GET /api/v1/pods");

    let first = write(roles, role("ClusterRole", None, "r", &rule), None);
    let before = access.policy(&store);
    assert!(!may_list());
    write("/pods", json!({ "metadata": { "name": "p" } }), None);
    assert!(
        Arc::ptr_eq(&before, &access.policy(&store)),
        "pods are not part of the policy"
    );
    let backup = store.backup();
    let bindings = "rbac.authorization.k8s.io/clusterrolebindings";
    let bound = write(bindings, binding(None, "ClusterRole/r", &subjects), None);
    assert!(may_list());
    store.restore(&backup);
    let again = write(roles, role("ClusterRole", None, "r", &rule), Some(first));
    assert_eq!(again, bound, "the revision of the deleted binding");
    assert!(!may_list());
}
