"""What is wrong with a hub and its workers: looked at by a thin shell, decided in pure functions."""
