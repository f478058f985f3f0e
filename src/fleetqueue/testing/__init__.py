"""Tools for tests of controllers: a Kubernetes API in memory, and time that jumps."""
