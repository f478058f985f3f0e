"""The processes of the product, on the hub and on workers: their settings, probes and parts."""
