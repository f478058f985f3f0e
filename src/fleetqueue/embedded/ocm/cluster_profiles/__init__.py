"""The inventory of a fleet for those who know nothing of OCM: a ClusterProfile for each cluster, and how to use it."""
