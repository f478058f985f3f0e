"""Jobs of other kinds as Kueue sees them: each has a Workload, waits suspended, and runs when that is admitted."""
