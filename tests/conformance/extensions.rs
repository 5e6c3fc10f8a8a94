//! Features that client-go's informers lack: consistency checks, snapshots, reading one's own writes, packed
//! caches, pruning.

mod consistency;
mod metrics;
mod packed_cache;
mod protobuf;
mod pruning;
mod read_your_writes;
mod restored_server;
mod snapshots;
