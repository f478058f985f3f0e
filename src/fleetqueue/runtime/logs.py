"""Log lines as events with fields: one per change, none per quiet reconcile, no secrets, no whole objects."""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

import orjson

LARGE_BYTES: Final = 20_000_000
"""When a file has grown so large, it is put aside and another one begun; that before it is dropped."""

tags: ContextVar[Mapping[str, Any]] = ContextVar("tags", default={})  # noqa: B039 - never changed
"""The fields that every line gets here: they also say whose work this is."""


@contextmanager
def tagged(**fields: Any) -> Iterator[None]:
    """Give these fields to every line that the body, and all that it starts, writes."""
    token = tags.set({**tags.get(), **fields})
    try:
        yield
    finally:
        tags.reset(token)


class Log:
    """A named logger: `log.info("config written", check="ac", clusters=2)`."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"fleetqueue.{name}")

    def debug(self, event: str, **fields: Any) -> None:
        self._logger.debug(event, extra={"fields": {**tags.get(), **fields}})

    def info(self, event: str, **fields: Any) -> None:
        self._logger.info(event, extra={"fields": {**tags.get(), **fields}})

    def warning(self, event: str, **fields: Any) -> None:
        self._logger.warning(event, extra={"fields": {**tags.get(), **fields}})

    def exception(self, event: str, **fields: Any) -> None:
        """Log with the traceback of the exception that is being handled."""
        self._logger.exception(event, extra={"fields": {**tags.get(), **fields}})


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        for name, value in getattr(record, "fields", {}).items():
            line.setdefault(name, value)  # a field must not hide what every line has
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


class TextLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{key}={value}" for key, value in getattr(record, "fields", {}).items())
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")[:-3]
        line = (
            f"{moment} {record.levelname[0]} {record.name.removeprefix('fleetqueue.')}: {record.getMessage()} {fields}"
        )
        return f"{line.rstrip()}\n{self.formatException(record.exc_info)}" if record.exc_info else line.rstrip()


class SmallFile(logging.FileHandler):
    """A file that is put aside when it has grown large. Python's own asks the disk for it with every line."""

    def emit(self, record: logging.LogRecord) -> None:
        if self.stream is not None and self.stream.tell() >= LARGE_BYTES:
            self.stream.close()
            Path(self.baseFilename).replace(f"{self.baseFilename}.1")
            self.stream = self._open()
        super().emit(record)


def set_up(*, json: bool, level: str = "INFO", stream: TextIO | None = None, file: Path | None = None) -> None:
    """Send the package's log lines to a stream (standard error unless told), or to a file that is kept small."""
    handler = SmallFile(file, encoding="utf-8") if file else logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if json else TextLines())
    root = logging.getLogger("fleetqueue")
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    root.propagate = False
