"""Credentials for the workers: least privilege, short-lived, renewed in time, removed when nobody uses them."""
