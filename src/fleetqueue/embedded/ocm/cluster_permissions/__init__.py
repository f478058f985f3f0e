"""Roles and bindings that the hub wants on a worker: a ManifestWork made of each ClusterPermission."""
