"""Stand-ins for the operators of other kinds of jobs, so that such jobs run on embedded clusters."""
