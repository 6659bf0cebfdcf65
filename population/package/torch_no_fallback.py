def _outside(__CALL__, out):
    """Where there is no kernel."""
    __SIZES_ASSIGNED__ = _checked_sizes(__CALL__)
    raise RuntimeError(f"__NAME__: no kernel for __SIZES_SHOWN__: supports() says which sizes there are")
