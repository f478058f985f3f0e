"""What kube-controller-manager does in a real cluster: namespaces end, owners take along what they own, Jobs run.

Each file keeps one thing right, through the public API alone, and can be left out where a real one runs.
"""
