"""The product: what is installed on a real hub and on real workers, and the processes that run it."""
