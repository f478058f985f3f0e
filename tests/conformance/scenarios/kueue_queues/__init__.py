"""Queue and admission scenarios: our scheduler against Kueue's."""
