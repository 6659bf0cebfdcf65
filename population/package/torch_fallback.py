def _by_reference(__CALL__):
    results = reference(__BY_NAME__, **OPTIONS)
    return (results,) if isinstance(results, torch.Tensor) else tuple(results)


def _outside(__CALL__, out):
    """Where there is no kernel: the same in torch's own operations (_reference.py)."""
    __SIZES_ASSIGNED__ = _checked_sizes(__CALL__)
    if not torch.compiler.is_compiling():
        if not _has_kernel(__SIZES__):
            _falls_back(f"no kernel for __SIZES_SHOWN__")
        else:
            _falls_back(f"the kernels are for {ARCHITECTURES}" if __FIRST__.is_cuda else "the tensors are not on a GPU")
    results = tuple(result.to(dtype) for result, dtype in zip(_by_reference(__CALL__), (__DTYPES__), strict=True))
    if out is None:
        return results if len(results) > 1 else results[0]
    for written, result in zip(out if isinstance(out, (tuple, list)) else (out,), results, strict=True):
        written.copy_(result)
    return out
