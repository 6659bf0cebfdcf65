def _outside(__CALL__, out):
    """Where there is no kernel."""
    if not __FIRST__.is_cuda:
        raise RuntimeError(f"__NAME__: expected __FIRST__ to be a CUDA tensor, but it is on {__FIRST__.device}")
    __SIZES_ASSIGNED__ = _checked_sizes(__CALL__)
    raise RuntimeError(f"__NAME__: no kernel for __SIZES_SHOWN__: supports() says which sizes there are")
