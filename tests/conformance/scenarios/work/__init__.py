"""Works and add-ons: what the agents of real OCM make of them, and what ours do."""
