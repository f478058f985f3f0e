"""Accounts on workers whose tokens the hub gets: issued, renewed in time, copied to where they are used, and ended."""
