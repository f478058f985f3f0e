"""OCM's add-ons: onto which clusters they come, how they are configured, of what they are made, and how they are.

Files beginning with `agent_` are the half that runs for one cluster; all others run on the hub.
"""
