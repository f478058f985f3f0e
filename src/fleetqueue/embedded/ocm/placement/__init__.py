"""OCM's placement: which clusters of the bound sets each Placement selects, written down as PlacementDecisions.

The order of reading: `plugins` judge and score one cluster each, `ranking` keeps a Placement's clusters in order,
`plan` turns that into objects, `scheduling` is the controller. `explaining` tells why.
"""
