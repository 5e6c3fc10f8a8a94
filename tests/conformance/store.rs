//! Store, indexes and listers: consistent reads, typed indexes, keys, the version of the store.

mod consistent_reads;
mod indexes;
mod keys;
mod listers;
mod version;
