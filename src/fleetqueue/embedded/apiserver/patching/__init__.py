"""What becomes of an object when somebody sends a change to it: the patches, and who owns which field."""
