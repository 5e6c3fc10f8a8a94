//! E. Store, index, lister: consistent reads, typed indexes, listers, keys, the store's version.

mod indexes;
mod keys;
mod listers;
mod reads;
mod version;
