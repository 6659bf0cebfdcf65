"""A table on the terminal, for the scripts of this folder and of tests/bench."""


def in_columns(lines):
    """The lines, each a list of texts, as one text whose columns are aligned."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)
