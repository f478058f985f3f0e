"""What registration has to say about writes: OCM's webhooks, in the server's own process."""
