"""One file for each family of verbs: read the request, call the registry, build the response."""
