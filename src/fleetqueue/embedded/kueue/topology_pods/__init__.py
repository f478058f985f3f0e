"""Pods of topology-aware Workloads, and the nodes that they run on."""
