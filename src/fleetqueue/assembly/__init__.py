"""Which parts run together: the process on the hub, the one on a worker, a fleet on one machine, the user stories."""
