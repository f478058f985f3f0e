"""One cluster's API, over HTTP or in process."""

from fleetqueue.client.client import Client, ListPage
from fleetqueue.client.door import Door

__all__ = ["Client", "Door", "ListPage"]
