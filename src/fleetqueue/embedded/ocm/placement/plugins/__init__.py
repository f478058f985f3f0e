"""What a Placement judges clusters by: filters first, then prioritizers with weights. Pure: no reading, no writing."""
