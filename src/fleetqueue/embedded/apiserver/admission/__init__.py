"""What happens to every write before it is stored: links that change an object, or refuse it."""
