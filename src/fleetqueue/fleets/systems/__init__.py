"""The systems that the seeds name, as they are installed on embedded clusters."""
