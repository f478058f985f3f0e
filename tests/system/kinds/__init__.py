"""Every kind of job on the embedded fleet as a whole: one row of a table each."""
