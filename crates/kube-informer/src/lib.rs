//! kube-informer
