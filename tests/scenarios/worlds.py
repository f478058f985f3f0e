"""All worlds: each has its tests and its record by being listed here.

A new room makes a folder with its YAML files and a `world.py` that ends in `WORLD = World(...)`, and is listed below.
`python tools/record_scenarios.py <folder>` then writes its record.
"""

from .kueue_jobs.world import WORLD as KUEUE_JOBS
from .kueue_queues.world import WORLD as KUEUE_QUEUES
from .placement.world import WORLD as PLACEMENT

WORLDS = (KUEUE_JOBS, KUEUE_QUEUES, PLACEMENT)
