//! kubectl-informer
fn main() {}
