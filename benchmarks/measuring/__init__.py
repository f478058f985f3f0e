"""What several benchmarks measure and show by."""
