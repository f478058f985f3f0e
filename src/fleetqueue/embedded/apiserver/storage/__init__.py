"""What one cluster keeps: its objects, their latest changes, and a log of both (docs/en/design/storage.md)."""
