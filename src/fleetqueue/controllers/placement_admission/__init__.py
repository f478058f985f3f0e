"""AdmissionChecks that name a Placement drive MultiKueue, and no job hangs or runs twice.

Four controllers share what the hub's objects say, and nothing else but the connections to the workers:

- `multikueue_configs` keeps one MultiKueueConfig and its MultiKueueClusters per Placement, and drains what was dropped;
- `workload_checks` says Ready (or Retry) on each Workload for the checks that are ours;
- `dispatcher` nominates clusters for each Workload, best first;
- `evictions` finishes an eviction that Kueue has left.
"""
