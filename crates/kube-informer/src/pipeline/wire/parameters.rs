//! User-defined request parameters.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Problem};

/// Parameters of a list or watch request, besides those that informers set themselves.
///
/// [`InformerBuilder::tweak_requests`](crate::InformerBuilder::tweak_requests) has an example.
#[doc(alias = "ListOptions")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    list: Vec<(String, String)>,
}

/// A function that changes the parameters of each request.
pub(crate) type Tweak = Arc<dyn Fn(&mut Parameters) + Send + Sync>;

impl Parameters {
    /// Sets the label selector.
    pub fn labels(&mut self, selector: impl fmt::Display) -> &mut Self {
        self.set("labelSelector", selector.to_string())
    }

    /// Sets the field selector, for example `spec.nodeName=node-1`.
    pub fn fields(&mut self, selector: impl Into<String>) -> &mut Self {
        self.set("fieldSelector", selector)
    }

    /// Sets any other parameter.
    ///
    /// A request fails if the parameter is one that informers set themselves; see
    /// [`InformerBuilder::parameter`](crate::InformerBuilder::parameter).
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) -> &mut Self {
        let name = name.into();
        self.remove(&name);
        self.list.push((name, value.into()));
        self
    }

    /// Removes a parameter.
    pub fn remove(&mut self, name: &str) -> &mut Self {
        self.list.retain(|(other, _)| other != name);
        self
    }

    /// Returns the value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.list.iter().find(|(other, _)| other == name)?;
        Some(value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Checks that no parameter is one that informers set themselves.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.iter().try_for_each(|(name, _)| check_parameter(name))
    }
}

/// Rejects a parameter that informers set themselves, because servers use the first of two values.
pub(crate) fn check_parameter(name: &str) -> Result<(), Error> {
    let setting = match name {
        "limit" => Some("page_size"),
        "timeoutSeconds" => Some("watch_timeout"),
        "sendInitialEvents" => Some("streaming_list"),
        "allowWatchBookmarks" | "continue" | "resourceVersion" | "resourceVersionMatch" | "watch" => None,
        _ => return Ok(()),
    };
    let name = name.to_owned();
    Err(Error::new(Problem::ReservedParameter { name, setting }))
}
