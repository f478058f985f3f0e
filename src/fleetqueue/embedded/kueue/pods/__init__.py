"""Pods that Kueue manages: alone, or in groups. They wait at a gate, and who stops one deletes it."""
