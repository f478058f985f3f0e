"""Fleets that are measured: what is arranged in them, how they are started, and what is timed."""
