"""How clusters become members of a fleet: what OCM's registration does on the hub, and its agent on each worker."""
