"""The logs: one JSON object per line, for requests and for problems."""

from __future__ import annotations

import json
import logging
import sys
import time
from contextvars import ContextVar

# The request that is being answered, in the threads that work for it too.
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
# What a problem may tell besides its message: logging.error(..., extra={"collection": name, "error": code}).
FIELDS = ("collection", "error")


class JsonFormatter(logging.Formatter):
    """A problem as JSON: time, level, message, request, and collection and error code where they are known."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line = {
            "time": timestamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "id": request_id.get(),
        }
        line |= {name: getattr(record, name, None) for name in FIELDS}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps({name: value for name, value in line.items() if value is not None})


def timestamp(seconds: float) -> str:
    """Return a time as RFC 3339 writes it."""
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{int(seconds % 1 * 1000):03}Z"


def log_to_standard_streams(*, quiet: bool) -> None:
    """Log problems to standard error, and requests to standard output unless ``quiet``.

    A terminal gets problems as plain text.
    """
    problems = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(levelname)s %(name)s: %(message)s")
    problems.setFormatter(plain if sys.stderr.isatty() else JsonFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[problems])
    lines = logging.StreamHandler(sys.stdout)
    lines.setFormatter(logging.Formatter("%(message)s"))
    access = logging.getLogger("sthash.serve.access")
    access.setLevel(logging.WARNING if quiet else logging.INFO)
    access.propagate = False
    access.addHandler(lines)
