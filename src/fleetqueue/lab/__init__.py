"""What fleets on this machine share, whatever their clusters are: ports, keys, state, processes, supervision."""
