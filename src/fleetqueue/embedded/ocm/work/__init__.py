"""OCM's work system: objects that the hub wants on workers."""
