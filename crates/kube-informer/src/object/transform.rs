//! The user's function that changes objects before they are cached.

use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::object::Key;
use crate::util::panics::caught;

/// A function that changes every object before it is added to the cache.
pub(crate) struct Transform<K> {
    function: Arc<TransformFunction<K>>,
}

type TransformFunction<K> = dyn Fn(&mut K) -> Result<(), String> + Send + Sync;

impl<K> Transform<K> {
    pub(crate) fn new<E: fmt::Display>(
        function: impl Fn(&mut K) -> Result<(), E> + Send + Sync + 'static,
    ) -> Transform<K> {
        Transform {
            function: Arc::new(move |object| function(object).map_err(|error| error.to_string())),
        }
    }

    /// Changes an object. A panic is a failure.
    pub(crate) fn apply(&self, key: &Key, object: &mut K) -> Result<(), Error> {
        caught(|| (self.function)(object))
            .unwrap_or_else(|message| Err(format!("panicked: {message}")))
            .map_err(|why| Error::user_code(format!("transform failed for {key}: {why}")))
    }
}

impl<K> Clone for Transform<K> {
    fn clone(&self) -> Self {
        Transform {
            function: Arc::clone(&self.function),
        }
    }
}
