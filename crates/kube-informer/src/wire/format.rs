//! TEMPORARY
use std::borrow::Cow;
use std::error::Error as StdError;
use kube_wire::selector::Selector;
use kube_wire::{Identity, Skip};
use serde::de::DeserializeOwned;
use crate::error::Error;
#[derive(Clone, Copy, Debug)]
pub(crate) enum Format { Json }
fn value(bytes: &[u8]) -> Result<serde_json::Value, Error> { serde_json::from_slice(bytes).map_err(|e| Error::bad_data_from("x", e)) }
fn cut(v: &mut serde_json::Value, skip: &Skip, path: &mut Vec<String>) {
    match v {
        serde_json::Value::Object(m) => {
            let keys: Vec<String> = m.keys().cloned().collect();
            for k in keys { path.push(k.clone()); let p: Vec<&str> = path.iter().map(String::as_str).collect();
                if skip.skips(&p) { m.remove(&k); } else { cut(m.get_mut(&k).unwrap(), skip, path); } path.pop(); }
        }
        serde_json::Value::Array(a) => for v in a { cut(v, skip, path) },
        _ => {}
    }
}
impl Format {
    pub(crate) fn identity(self, bytes: &[u8]) -> Result<Identity<'_>, Error> {
        let v = value(bytes)?; let t = |n: &str| Cow::Owned(v["metadata"][n].as_str().unwrap_or_default().to_owned());
        Ok(Identity { name: t("name"), namespace: t("namespace"), resource_version: t("resourceVersion"), uid: t("uid") })
    }
    pub(crate) fn decode<K: DeserializeOwned>(self, bytes: &[u8], skip: &Skip) -> Result<K, Box<dyn StdError + Send + Sync>> {
        let mut v: serde_json::Value = serde_json::from_slice(bytes)?; cut(&mut v, skip, &mut Vec::new()); Ok(serde_json::from_value(v)?)
    }
    pub(crate) fn prune(self, bytes: &[u8], skip: &Skip, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut v = value(bytes)?; cut(&mut v, skip, &mut Vec::new()); out.extend(serde_json::to_vec(&v).unwrap()); Ok(())
    }
    pub(crate) fn head(self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let mut v = value(bytes)?; for n in ["annotations","name","namespace","resourceVersion"] {v["metadata"].as_object_mut().unwrap().remove(n);} out.extend(serde_json::to_vec(&serde_json::json!({"metadata": v["metadata"]})).unwrap()); Ok(())
    }
    pub(crate) fn metadata<T: DeserializeOwned>(self, bytes: &[u8]) -> Result<T, Error> { Ok(serde_json::from_value(value(bytes)?["metadata"].clone()).unwrap()) }
    pub(crate) fn matches(self, bytes: &[u8], selector: &Selector) -> Result<bool, Error> {
        let v = value(bytes)?; let l: Option<std::collections::BTreeMap<String, String>> = serde_json::from_value(v["metadata"]["labels"].clone()).unwrap(); Ok(selector.matches(&l))
    }
    pub(crate) fn label<'a>(self, bytes: &'a [u8], name: &str) -> Result<Option<Cow<'a, str>>, Error> {
        let v = value(bytes)?; Ok(v["metadata"]["labels"][name].as_str().map(|s| Cow::Owned(s.to_owned())))
    }
}
