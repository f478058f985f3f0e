"""MultiKueue: a hub's Workloads are offered to workers, and the first worker that admits one runs its job."""
