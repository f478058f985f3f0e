"""Kubernetes, Kueue and Open Cluster Management in this process: imitations, judged by the real ones."""
