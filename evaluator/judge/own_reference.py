def reference(**given):
    tensors = {name: given[name] for name in [*INPUTS, *PARAMETERS]}
    outputs = new_model(Model, tensors)(*(tensors[name] for name in INPUTS))
    return flat(outputs) if "flat" in globals() else outputs
