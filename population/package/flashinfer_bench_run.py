__REFERENCE__



OPTIONS = {__OPTIONS__}


def run(__CALL__):
    results = reference(__BY_NAME__, **OPTIONS)
    results = results if isinstance(results, tuple) else (results,)
    results = tuple(result.to(dtype) for result, dtype in zip(results, (__DTYPES__,)))
    return results if len(results) > 1 else results[0]
