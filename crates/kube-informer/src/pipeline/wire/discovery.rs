//! Whether an API server serves a kind, by its own discovery documents.
//!
//! A cache is emptied on the strength of this answer, so it is `false` only where a document that is beyond doubt says
//! so. A 404 alone never is: a proxy may answer everything with it.

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt;
use kube::client::Body;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::http::{ApiListWatch, answer, get};
use super::status::failure;
use crate::error::Error;
use crate::object::{Kind, WatchedResource};

/// No server has so many kinds that its documents are larger.
const LARGEST_DOCUMENT: usize = 64 << 20;

/// Where a kind stands in discovery.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    /// Where the document is that names the kinds of its group and version.
    path: String,
    group_version: String,
    plural: String,
    /// The core group has one version only, and no document that names it among others.
    is_core: bool,
}

impl Listed {
    pub(super) fn of<K: Kind>(kind: &K::DynamicType) -> Listed {
        let names = WatchedResource::of::<K>(kind, None);
        let is_core = names.group().is_empty();
        let group_version = names.api_version();
        let root = if is_core { "/api" } else { GROUPS };
        Listed {
            path: format!("{root}/{group_version}"),
            group_version,
            plural: names.plural().to_owned(),
            is_core,
        }
    }
}

/// Where the document is that names all groups and versions.
const GROUPS: &str = "/apis";

/// The document that names the kinds of one group and version.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceList {
    kind: String,
    group_version: String,
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: String,
}

/// The document that names all groups and versions.
#[derive(Deserialize)]
struct GroupList {
    kind: String,
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    versions: Vec<GroupVersion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersion {
    group_version: String,
}

impl<K: Kind> ApiListWatch<K> {
    pub(super) async fn is_listed(&self) -> Result<bool, Error> {
        let Listed {
            path,
            group_version,
            plural,
            is_core,
        } = &*self.listed;
        let missing = match self.document::<ResourceList>(path).await {
            Ok(list) if list.kind == "APIResourceList" && list.group_version == *group_version => {
                return Ok(list.resources.iter().any(|resource| resource.name == *plural));
            }
            Ok(list) => return Err(another_document(path, &list.kind)),
            Err(error) if error.is_not_found() && !is_core => error,
            Err(error) => return Err(error),
        };
        let list: GroupList = self.document(GROUPS).await?;
        // Every server has groups of its own.
        if list.kind != "APIGroupList" || list.groups.is_empty() {
            return Err(another_document(GROUPS, &list.kind));
        }
        let mut versions = list.groups.iter().flat_map(|group| &group.versions);
        if versions.any(|version| version.group_version == *group_version) {
            // The two documents are not of one moment.
            return Err(missing);
        }
        Ok(false)
    }

    async fn document<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let response = answer(&self.client, get(path, "application/json")?).await?;
        if response.status() != StatusCode::OK {
            return Err(failure(response).await);
        }
        let body = whole(response.into_body()).await?;
        serde_json::from_slice(&body)
            .map_err(|error| Error::bad_data_from(format!("no discovery document at {path}"), error))
    }
}

fn another_document(path: &str, kind: &str) -> Error {
    Error::bad_data(format!("{kind:?} at {path}, which is not the document asked for"))
}

async fn whole(mut body: Body) -> Result<Bytes, Error> {
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Error::transport("a discovery document broke off", error))?;
        if let Ok(data) = frame.into_data() {
            if whole.len() + data.len() > LARGEST_DOCUMENT {
                let limit = LARGEST_DOCUMENT >> 20;
                return Err(Error::bad_data(format!(
                    "a discovery document of more than {limit} MiB, which is the limit"
                )));
            }
            whole.extend_from_slice(&data);
        }
    }
    Ok(whole.freeze())
}
