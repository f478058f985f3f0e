"""Objects as they travel: typed views for reading, small functions for writing, no I/O."""
