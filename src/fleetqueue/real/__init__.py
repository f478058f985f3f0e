"""Real etcd, Kubernetes, Kueue and Open Cluster Management, built from Go modules and run as plain processes.

`build` makes the engine once; `fleet.RealFleet` runs a fleet inside the calling program; `control` starts, asks and
ends one in the background, whatever it is made of.
"""
