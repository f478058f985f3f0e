"""The three user stories as programs: each step is a command that a person would type, each expectation has an id."""
