"""What the benchmark of API servers is made of: the servers, who asks them, and how numbers are told."""
