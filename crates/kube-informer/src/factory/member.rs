//! An informer of a factory, without the type of its objects.

use std::any::Any;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::erased::AnyInformer;
use crate::error::Error;
use crate::informer::{InformerState, SharedInformer, Status};
use crate::object::{Kind, WatchedResource};

pub(super) trait Member: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn resource(&self) -> &WatchedResource;
    fn state(&self) -> InformerState;
    fn status(&self) -> Status;
    fn start(&self);
    fn has_synced(&self) -> bool;
    fn synced(&self) -> BoxFuture<'_, Result<(), Error>>;
    fn wait_for_sync(&self, timeout: Duration) -> BoxFuture<'_, Result<(), Error>>;
    fn shutdown(&self) -> BoxFuture<'_, ()>;
    fn erase(&self) -> AnyInformer;
}

impl<K: Kind> Member for SharedInformer<K> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn resource(&self) -> &WatchedResource {
        SharedInformer::resource(self)
    }

    fn state(&self) -> InformerState {
        SharedInformer::state(self)
    }

    fn status(&self) -> Status {
        SharedInformer::status(self)
    }

    fn start(&self) {
        // An error means that another thread has started it at the same time.
        let _already = SharedInformer::start(self);
    }

    fn has_synced(&self) -> bool {
        SharedInformer::has_synced(self)
    }

    fn synced(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(SharedInformer::synced(self))
    }

    fn wait_for_sync(&self, timeout: Duration) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(SharedInformer::wait_for_sync(self, timeout))
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(SharedInformer::shutdown(self))
    }

    fn erase(&self) -> AnyInformer {
        self.into()
    }
}
