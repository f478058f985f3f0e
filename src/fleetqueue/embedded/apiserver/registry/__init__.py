"""What the verbs mean for each kind: what is filled in, what is refused, what is kept of the old object."""
