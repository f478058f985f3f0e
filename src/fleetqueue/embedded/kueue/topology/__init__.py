"""Topology-aware scheduling: which pods go to which domains of a cluster's nodes. No I/O."""
