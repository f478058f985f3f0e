"""Kueue: queues, the Workloads that wait in them, and the versions in which its kinds are written."""
