"""This checkout, for the scripts of this folder."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def environment():
    """For `evo`: with the templates and rivals of this checkout, where no others are named."""
    return {"EVO_TEMPLATES": str(ROOT / "templates"), "EVO_RIVALS": str(ROOT / "rivals"), **os.environ}
