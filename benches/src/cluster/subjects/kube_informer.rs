//! This project's informer.

use std::time::Duration;

use kube::Resource;
use kube_informer::{
    HandlerOptions, Kind, Registration, SharedInformer, WireFormat, callbacks, default_client,
};

use super::{Form, Wire};
use crate::Outcome;
use crate::cluster::arrivals::Arrivals;
use crate::cluster::{STAMP, Subject};

const PATIENCE: Duration = Duration::from_mins(5);

/// An informer with one handler.
#[derive(Debug)]
pub(super) struct Informer<K: Kind> {
    informer: SharedInformer<K>,
    handler: Registration,
}

impl<K: Kind + Resource<DynamicType = ()>> Informer<K> {
    pub(super) async fn new(arrivals: Arrivals, form: Form, wire: Wire) -> Outcome<Informer<K>> {
        let form = match form {
            Form::Typed | Form::Projection => kube_informer::Form::Typed,
            Form::Packed | Form::PackedProjection => kube_informer::Form::Packed,
        };
        let wire = match wire {
            Wire::Protobuf => WireFormat::Protobuf,
            Wire::Json => WireFormat::Json,
        };
        let builder = SharedInformer::builder(default_client().await?);
        let informer = builder.form(form).wire_format(wire).build();
        let handler = callbacks::<K>().on_update(move |_, pod| {
            arrivals.came_with(pod.annotation(STAMP).as_deref());
        });
        // As the peers' does it, it notes the time and goes.
        let options = HandlerOptions::new().never_blocks();
        let handler = informer.add_handler_with(handler, options)?;
        Ok(Informer { informer, handler })
    }
}

impl<K: Kind> Subject for Informer<K> {
    async fn sync(&mut self) -> Outcome {
        self.informer.start()?;
        self.informer.wait_for_sync(PATIENCE).await?;
        self.handler.wait_for_sync(PATIENCE).await?;
        Ok(())
    }

    fn objects(&self) -> usize {
        self.informer.snapshot().len()
    }

    fn lists(&self) -> u64 {
        let status = self.informer.status();
        status.lists + status.streaming_lists
    }
}
