"""Jobs of many kinds through MultiKueue: each kind in the same few situations, recorded family by family."""
