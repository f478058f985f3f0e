"""The kubectl commands that the stories type, in Python: for where there is no kubectl, or no processes at all."""
