"""The embedded fleet as a whole: over sockets, under faults, in its stories."""
