//! kube-wire
