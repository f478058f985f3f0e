"""Fleets on one machine: product and clusters put together, embedded or real, with scenarios and faults."""
