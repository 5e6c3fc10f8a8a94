//! Tests of packed objects without an informer.

#[cfg(feature = "zstd")]
mod compression;
mod fixture;
mod packed;
