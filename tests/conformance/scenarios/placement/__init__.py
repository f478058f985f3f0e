"""Placement scenarios: our placement controller against OCM's."""
