"""The agent's half of the fence: it stops the copies on a worker that is cut off, before the hub starts them elsewhere.

Start reading in `agent.py`. What the hub and the agent agree on is in `api/fence.py`; the hub's half is in
`placement_admission/fences.py`.
"""
