"""Nodes without machines: a scheduler that places pods, and kubelets that play how the pods run and end."""
