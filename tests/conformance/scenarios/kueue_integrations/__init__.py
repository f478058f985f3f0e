"""Scenarios of pods, and of what is admitted by its pods or by rules of its own, under Kueue: ours against the real."""
