"""What every controller needs: caches that follow the cluster, a queue of keys, careful writes, leadership."""
