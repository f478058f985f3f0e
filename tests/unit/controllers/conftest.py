"""Strangers are in the clusters of every test here; no controller may touch them."""

from tests.unit.strangers_in_clusters import broken, counted, new_api, strangers_of_the_fleet

__all__ = ["broken", "counted", "new_api", "strangers_of_the_fleet"]
