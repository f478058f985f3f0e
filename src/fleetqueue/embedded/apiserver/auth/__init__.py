"""Who asks, and whether they may: certificates and tokens become users, roles and bindings become answers."""
