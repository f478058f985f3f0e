"""Nodes without machines: a scheduler that places pods, and kubelets that simulate how the pods run and end."""
