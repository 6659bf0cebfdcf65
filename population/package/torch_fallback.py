def _outside(__CALL__, out):
    """For sizes without a kernel: the same in torch's own operations (_reference.py)."""
    _checked_sizes(__CALL__)
    results = reference(__BY_NAME__, **OPTIONS)
    if isinstance(results, torch.Tensor):
        results = (results,)
    results = tuple(result.to(dtype) for result, dtype in zip(results, (__DTYPES__), strict=True))
    if out is None:
        return results if len(results) > 1 else results[0]
    for written, result in zip(out if isinstance(out, (tuple, list)) else (out,), results, strict=True):
        written.copy_(result)
    return out
