"""What the benchmark of sizes is made of."""
