"""A Kubernetes API in one process: requests go down the floors http, registry, admission and the like, storage."""
