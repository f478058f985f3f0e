"""Jobs that are placed by the topology of their worker, which the hub's queue delays: our MultiKueue and Kueue's."""
