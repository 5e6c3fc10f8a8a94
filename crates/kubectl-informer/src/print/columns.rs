//! Columns of resources.

use kube::Client;
use kube_informer::discovery::DiscoveredResource;
use kube_table::Columns;
use serde_json::Value;

/// Returns the columns of a resource: kubectl's for built-in kinds, and those of the definition for custom
/// resources. If the definition cannot be read, the columns are name and age.
pub(crate) async fn columns_of(client: &Client, resource: &DiscoveredResource) -> Columns {
    let names = resource.api_resource();
    if let Some(columns) = Columns::built_in(&names.group, &names.version, &names.kind) {
        return columns;
    }
    Columns::custom(
        &additional_printer_columns(client, resource)
            .await
            .unwrap_or_default(),
    )
}

/// Returns the columns name and age.
pub(crate) fn name_and_age() -> Columns {
    Columns::custom(&Value::Null)
}

/// Requests `additionalPrinterColumns` of the resource's version.
async fn additional_printer_columns(client: &Client, resource: &DiscoveredResource) -> Option<Value> {
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{resource}");
    let request = http::Request::get(path).body(Vec::new()).ok()?;
    let mut definition: Value = client.request(request).await.ok()?;
    let versions = definition["spec"]["versions"].as_array_mut()?;
    let version = &resource.api_resource().version;
    let version = versions.iter_mut().find(|known| known["name"] == **version)?;
    Some(version["additionalPrinterColumns"].take())
}
