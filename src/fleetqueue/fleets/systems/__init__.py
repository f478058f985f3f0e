"""The systems that the walkthroughs name, as they are installed on embedded clusters."""
