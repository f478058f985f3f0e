"""The kinds of jobs that can be sent to workers."""
