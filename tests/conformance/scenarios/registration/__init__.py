"""Scenarios of clusters that join, are accepted, fall silent and leave, and of their sets."""
