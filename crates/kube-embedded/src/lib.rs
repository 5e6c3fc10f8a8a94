//! A Kubernetes API server inside your process.
#![allow(dead_code, reason = "under construction")]

mod crd;
mod defaults;
mod openapi;
mod patch;
mod schema;
mod status;
mod table;
