"""The command evo of the wheel."""

from __future__ import annotations

import os
import sys

from ._program import EvoError, environment, program


def main() -> None:
    """Becomes the program."""
    try:
        file = str(program())
    except EvoError as error:
        print(f"evo: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    os.execve(file, ["evo", *sys.argv[1:]], environment())
