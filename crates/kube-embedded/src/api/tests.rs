use super::*;

#[test]
fn the_table_is_parsed_completely() {
    let registry = Registry::builtin();
    assert!(registry.all().count() > 90);
    let deployments = registry.find("apps", "v1", "deployments").expect("deployments");
    assert_eq!(deployments.api_version(), "apps/v1");
    assert_eq!(deployments.short_names, ["deploy"]);
    assert_eq!(
        deployments.subresource("scale").expect("scale").group,
        "autoscaling"
    );
    assert!(deployments.types().is_some());
}

#[test]
fn versions_of_a_resource_share_their_objects() {
    let registry = Registry::builtin();
    let v1 = registry
        .find("autoscaling", "v1", "horizontalpodautoscalers")
        .expect("v1");
    let v2 = registry
        .find("autoscaling", "v2", "horizontalpodautoscalers")
        .expect("v2");
    assert_eq!(v1.collection, v2.collection);
    assert_eq!(v1.stored_as, "autoscaling/v2");
    let core = registry.find("", "v1", "events").expect("core events");
    let events = registry.find("events.k8s.io", "v1", "events").expect("events");
    assert_eq!(
        (&core.collection, &core.stored_as),
        (&events.collection, &events.stored_as)
    );
    assert_eq!(core.selectable.len(), events.selectable.len());
}

#[test]
fn every_kind_with_objects_has_a_type() {
    for resource in Registry::builtin().all() {
        assert!(
            resource.types().is_some(),
            "{}/{} {}",
            resource.group,
            resource.version,
            resource.kind
        );
    }
}
