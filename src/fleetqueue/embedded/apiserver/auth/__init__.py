"""Authentication and authorization: the user of a certificate or token, and what roles and bindings allow."""
