"""Scenarios of StatefulSets, DaemonSets and CronJobs: our controllers against kube-controller-manager."""
