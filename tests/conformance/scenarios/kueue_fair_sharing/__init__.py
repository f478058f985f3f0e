"""Scenarios of fair sharing: who goes first, and who goes for whom, by what each has of what is shared."""
