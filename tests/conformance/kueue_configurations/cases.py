"""The cases, and what is recorded of the real manager: what it says to each of them, and which gates it knows."""

import json
from dataclasses import dataclass
from pathlib import Path

import yaml

HERE = Path(__file__).parent
RECORD = HERE / "recorded.json"


@dataclass(frozen=True)
class Case:
    name: str
    config: str = ""
    version: str = "v1beta2"
    arguments: tuple[str, ...] = ()
    ours: str | None = None

    @property
    def text(self) -> str:
        head = f"apiVersion: config.kueue.x-k8s.io/{self.version}\nkind: Configuration\n"
        return self.config if self.version == "none" else head + self.config


def load() -> list[Case]:
    return [
        Case(**{**given, "arguments": tuple(given.get("arguments", ()))})
        for given in yaml.safe_load((HERE / "cases.yaml").read_text())
    ]


def recorded() -> dict:
    return json.loads(RECORD.read_text())
