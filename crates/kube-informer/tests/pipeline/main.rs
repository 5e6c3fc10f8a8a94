//! Tests of the informer from its source to its handlers, through the public API and without a server.

mod consistency;
mod dynamic;
mod ending;
mod enqueueing;
mod erased;
mod filtering;
mod handlers;
mod hooks;
mod joining;
mod lagging;
mod lifecycle;
mod logged;
mod logging;
mod measured;
mod other_namespaces;
mod panicking;
mod recording;
mod releasing;
mod removing;
mod resyncing;
mod scripted;
mod served;
mod streaming;
mod versions;
mod waiting;
