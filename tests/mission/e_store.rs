//! E. Store, index, lister: consistent reads by key, namespace and index, keys, and the version of the store.
