"""What each family of built-in kinds does by itself: its defaults, its rules, what only the server sets."""
