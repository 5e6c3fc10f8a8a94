//! Which columns a resource has.

use kube::Client;
use kube_informer::DiscoveredResource;
use kube_table::Columns;
use serde_json::Value;

/// The columns of a resource: kubectl's for built-in kinds, and those that the definition of a custom kind declares, if it
/// may be read. Otherwise there are name and age.
pub(crate) async fn columns_of(client: &Client, resource: &DiscoveredResource) -> Columns {
    let names = resource.api_resource();
    if let Some(columns) = Columns::built_in(&names.group, &names.version, &names.kind) {
        return columns;
    }
    Columns::custom(&declared(client, resource).await.unwrap_or_default())
}

/// Name and age, which every object has.
pub(crate) fn name_and_age() -> Columns {
    Columns::custom(&Value::Null)
}

/// `additionalPrinterColumns` of the version that is looked at.
async fn declared(client: &Client, resource: &DiscoveredResource) -> Option<Value> {
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{resource}");
    let request = http::Request::get(path).body(Vec::new()).ok()?;
    let mut definition: Value = client.request(request).await.ok()?;
    let versions = definition["spec"]["versions"].as_array_mut()?;
    let version = &resource.api_resource().version;
    let version = versions.iter_mut().find(|known| known["name"] == **version)?;
    Some(version["additionalPrinterColumns"].take())
}
