//! Values that identify objects, kinds and versions. This module imports nothing of this crate, so that every other module,
//! including `error`, can use it.

mod consistency_report;
mod key;
mod resource_version;
mod uid;
mod watched_resource;

pub use self::consistency_report::{ConsistencyReport, Difference};
pub use self::key::{Key, ParseKeyError};
pub use self::resource_version::ResourceVersion;
pub(crate) use self::uid::Uid;
pub use self::watched_resource::WatchedResource;
