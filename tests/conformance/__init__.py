"""The embedded clusters against the records of real ones."""
