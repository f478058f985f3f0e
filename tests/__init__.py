"""All tests: of one part, of whole systems, and of what is said about them."""
