//! kube-workqueue
