def normal(dtype, *shape):
    return torch.randn(shape, device="__DEVICE__").to(dtype)


def codes(dtype, *shape):
    least, most = (0, 256) if dtype == torch.uint8 else (-127, 128)
    return torch.randint(least, most, shape, device="__DEVICE__").to(dtype)


def zeros(dtype, *shape):
    return torch.zeros(shape, device="__DEVICE__", dtype=dtype)


def scales_of_floats(dtype, *shape):
    return (0.5 + torch.rand(shape, device="__DEVICE__")).to(dtype)


def scales_of_integers(dtype, *shape):
    return (0.05 + 0.1 * torch.rand(shape, device="__DEVICE__")).to(dtype)


def random_zero_points(dtype, *shape):
    return torch.randint(100, 150, shape, device="__DEVICE__").to(dtype)
