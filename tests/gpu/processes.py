"""Processes that a script started, found by a word of their environment, for the scripts of this folder and of tests/bench."""

import os
import pathlib


def marked_processes(mark):
    """Folders in /proc of all processes whose environment has `mark` ("NAME=value"), but not of this one."""
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                yield folder
        except OSError:
            pass  # It has ended.
