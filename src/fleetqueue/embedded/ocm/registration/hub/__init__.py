"""The half that runs on the hub."""
