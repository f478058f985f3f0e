"""Jobs that must never run twice, also when their worker is cut off."""
