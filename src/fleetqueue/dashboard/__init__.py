"""One live page about a hub: fleet, queues, jobs, and why a job waits. It only reads."""
