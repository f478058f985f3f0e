"""What the commands of an administrator do to a hub: join, unjoin, install, uninstall, get."""
