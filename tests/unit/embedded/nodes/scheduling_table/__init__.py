"""Pods that fit somewhere or nowhere, played on a real cluster and on ours."""

from pathlib import Path

RECORDED = Path(__file__).parent / "recorded.json"
"""What a real cluster says; `python -m tests.real.engine.record_tables` writes it."""
