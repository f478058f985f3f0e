"""What people see of each kind in a table: its columns, and the text of its cells."""
