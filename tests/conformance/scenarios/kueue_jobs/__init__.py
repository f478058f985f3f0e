"""Scenarios of jobs under Kueue: our manager against the real one."""
