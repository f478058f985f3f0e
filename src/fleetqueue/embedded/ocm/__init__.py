"""Open Cluster Management and its add-ons: what runs on the hub, and the agents that run beside workers."""
