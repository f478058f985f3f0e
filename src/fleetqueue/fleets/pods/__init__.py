"""Pods that are parts: which program stands for an image, and what it is given."""
