"""The half that runs on each worker."""
