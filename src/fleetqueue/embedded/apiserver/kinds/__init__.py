"""What the server knows of each kind: its shape, its columns, its rules, as data."""
