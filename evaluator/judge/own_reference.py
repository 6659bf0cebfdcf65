def reference(**given):
    tensors = {name: given[name] for name in [*INPUTS, *PARAMETERS]}
    return new_model(Model, tensors)(*(tensors[name] for name in INPUTS))
