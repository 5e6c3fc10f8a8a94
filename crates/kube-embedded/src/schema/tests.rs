use super::*;

#[test]
fn the_table_is_read_whole() {
    let types = Types::builtin();
    assert!(types.iter().count() > 700);
    let pod = types
        .find("io.k8s.api.core.v1.PodSpec")
        .and_then(|id| types.structure(id))
        .expect("PodSpec");
    let containers = pod.field("containers").expect("containers");
    assert!(containers.required && containers.patch_merge);
    assert_eq!(containers.merge_key.as_deref(), Some("name"));
    assert_eq!(containers.list, ListKind::Map(vec!["name".into()]));
    let Resolved::List(item) = types.resolve(&containers.ty) else {
        panic!("containers is a list")
    };
    let Resolved::Struct(container) = types.resolve(item) else {
        panic!("a container is a struct")
    };
    assert!(container.field("image").is_some());
    let volumes = pod.field("volumes").expect("volumes");
    assert!(volumes.retain_keys && volumes.patch_merge);
}

#[test]
fn aliases_are_followed() {
    let types = Types::builtin();
    let quantity = types
        .find("io.k8s.apimachinery.pkg.api.resource.Quantity")
        .expect("Quantity");
    assert!(matches!(
        types.resolve(&Type::Ref(quantity)),
        Resolved::Scalar(Type::Quantity)
    ));
}
