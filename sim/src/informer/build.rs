//! Builds the informers of a plan.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Client;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, GroupVersionResource, PartialObjectMeta};
use kube_informer::{
    CacheFormat, FieldMask, InformerBuilder, Kind, SharedInformer, SharedInformerFactory, source::WireFormat,
};
use serde::Serialize;

use super::erased::{AnyInformer, TypedInformer};
use super::reads;
use crate::PlannedPanic;
use crate::objects::{CHOSEN, GROUP, NOISE, POISON, TRANSFORMED};
use crate::plan::{InformerPlan, ObjectFormat, Selection, TransformPlan};

/// Builds an informer. Some resolve their resource by discovery.
pub(super) async fn build(
    client: &Client,
    plan: &InformerPlan,
    is_custom: bool,
    seed: u64,
) -> Arc<dyn AnyInformer> {
    let resource = if is_custom {
        ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, "v1", "Widget"))
    } else {
        ApiResource::erase::<ConfigMap>(&())
    };
    match plan.format {
        ObjectFormat::Decoded | ObjectFormat::Packed if !is_custom => {
            build_as::<ConfigMap>(client, (), plan, seed)
        }
        ObjectFormat::Metadata if !is_custom => {
            build_as::<PartialObjectMeta<ConfigMap>>(client, (), plan, seed)
        }
        ObjectFormat::Metadata => build_as::<PartialObjectMeta<DynamicObject>>(client, resource, plan, seed),
        ObjectFormat::Dynamic if plan.from_factory => build_discovered(client, resource, plan, seed).await,
        ObjectFormat::Decoded | ObjectFormat::Packed | ObjectFormat::Dynamic => {
            build_as::<DynamicObject>(client, resource, plan, seed)
        }
    }
}

fn build_as<K: Kind + Serialize>(
    client: &Client,
    kind: K::DynamicType,
    plan: &InformerPlan,
    seed: u64,
) -> Arc<dyn AnyInformer> {
    if !plan.from_factory {
        let builder = SharedInformer::<K>::builder_with(client.clone(), kind);
        let informer = configure(builder, plan, seed).build();
        return Arc::new(TypedInformer::new(informer, None, plan));
    }
    let factory = factory::<K>(client, &kind, plan, seed);
    let first = factory.informer_with::<K>(kind.clone());
    Arc::new(TypedInformer::new(
        assert_same(first, &factory.informer_with::<K>(kind)),
        Some(factory),
        plan,
    ))
}

/// Resolves the resource by its name, or uses the known one if discovery fails.
async fn build_discovered(
    client: &Client,
    resource: ApiResource,
    plan: &InformerPlan,
    seed: u64,
) -> Arc<dyn AnyInformer> {
    let name = GroupVersionResource::gvr(&resource.group, &resource.version, &resource.plural);
    let factory = factory::<DynamicObject>(client, &resource, plan, seed);
    let found = tokio::time::timeout(Duration::from_secs(5), factory.for_resource(&name)).await;
    let asked = factory.dynamic(resource);
    let informer = match found {
        Ok(Ok(found)) => assert_same(found, &asked),
        _ => asked,
    };
    Arc::new(TypedInformer::new(informer, Some(factory), plan))
}

fn factory<K: Kind>(
    client: &Client,
    kind: &K::DynamicType,
    plan: &InformerPlan,
    seed: u64,
) -> SharedInformerFactory {
    let options = plan.clone();
    let mut builder = SharedInformerFactory::builder(client.clone());
    if let Selection::Namespaces(namespaces) = &plan.selection {
        builder = builder.namespaces(namespaces.iter().cloned());
    }
    builder
        .kind_with::<K>(kind, move |builder| configure(builder, &options, seed))
        .build()
}

/// Checks that a factory returns the same informer each time.
fn assert_same<K: Kind>(one: SharedInformer<K>, other: &SharedInformer<K>) -> SharedInformer<K> {
    let registration = other.add_handler(|_| {}).expect("a running informer");
    assert_eq!(
        one.registrations().len(),
        1,
        "the factory returned two informers of one kind"
    );
    registration.remove();
    one
}

fn configure<K: Kind>(builder: InformerBuilder<K>, plan: &InformerPlan, seed: u64) -> InformerBuilder<K> {
    let mut builder = builder
        .seed(seed)
        .wire_format(if plan.json {
            WireFormat::Json
        } else {
            WireFormat::default()
        })
        .streaming_list(plan.streams)
        .page_size(plan.page)
        .resync(plan.resync)
        .watch_error_handler(|_| {});
    builder = match &plan.selection {
        Selection::Everything => builder,
        Selection::Namespaces(namespaces) => builder.namespaces(namespaces.iter().cloned()),
        Selection::Chosen => builder.labels(CHOSEN),
    };
    if plan.format == ObjectFormat::Packed {
        builder = builder.cache_format(CacheFormat::Packed);
    }
    if plan.has_index {
        builder = builder.index::<String, _>(reads::IS_CHOSEN, reads::is_chosen::<K>);
    }
    if plan.prunes_data {
        let fields = FieldMask::none().path("data").expect("the path is valid");
        builder = builder.prune(&fields);
    }
    if plan.keeps_managed_fields {
        builder = builder.keep_managed_fields();
    }
    if let Some(every) = plan.check_every {
        builder = builder.check_consistency(every).relist_if_inconsistent();
    }
    match plan.transform {
        TransformPlan::None => builder,
        transform => builder.try_transform(move |object: &mut K| apply(transform, object)),
    }
}

/// Applies the transform of a plan. The result depends only on the object.
fn apply<K: Kind>(transform: TransformPlan, object: &mut K) -> Result<(), &'static str> {
    let metadata = object.meta_mut();
    let labels = metadata.labels.get_or_insert_default();
    let is_poisoned = labels.contains_key(POISON);
    match transform {
        TransformPlan::Fails if is_poisoned => return Err("the object is poisoned"),
        TransformPlan::Panics if is_poisoned => std::panic::resume_unwind(Box::new(PlannedPanic)),
        _ => {}
    }
    labels.insert(TRANSFORMED.to_owned(), "yes".to_owned());
    labels.remove("written");
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(NOISE);
    }
    metadata.owner_references = Some(vec![OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: "owner".to_owned(),
        uid: "0".to_owned(),
        ..OwnerReference::default()
    }]);
    Ok(())
}
