"""Say for each cluster how much of it is free: an agent on the worker measures, the hub speaks for silent agents."""
