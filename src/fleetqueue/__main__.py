"""`python -m fleetqueue` is `fleetqueue`."""

from fleetqueue.cli.main import main

main()
