"""Scenarios of topology-aware scheduling: where our scheduler puts the pods of a Workload, and where Kueue's does."""
