"""JobSets: a stand-in for JobSet's own controller, so that JobSets run on embedded clusters."""
