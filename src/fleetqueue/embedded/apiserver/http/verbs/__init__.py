"""One file for each family of verbs: read the question, call the registry, say the result."""
