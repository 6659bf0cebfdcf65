def _outside(__CALL__, out):
    """Where there is no kernel: the same in torch's own operations (_reference.py)."""
    __SIZES_ASSIGNED__ = _checked_sizes(__CALL__)
    if not torch.compiler.is_compiling():
        fits = _has_kernel(__SIZES__)
        _falls_back(f"the kernels are for {ARCHITECTURES}" if fits else f"no kernel for __SIZES_SHOWN__")
    results = reference(__BY_NAME__, **OPTIONS)
    if isinstance(results, torch.Tensor):
        results = (results,)
    results = tuple(result.to(dtype) for result, dtype in zip(results, (__DTYPES__), strict=True))
    if out is None:
        return results if len(results) > 1 else results[0]
    for written, result in zip(out if isinstance(out, (tuple, list)) else (out,), results, strict=True):
        written.copy_(result)
    return out
