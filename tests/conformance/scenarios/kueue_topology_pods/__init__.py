"""Scenarios of the pods of placed jobs: how they leave the topology gate, and what happens when their nodes fail."""
