"""Send each batch job to the right cluster of a fleet."""

__version__ = "0.1.0"
