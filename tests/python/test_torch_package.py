import importlib
import os
import sys
import unittest
import warnings
from contextlib import ExitStack
from unittest import mock

from searched import folder, small_search

try:
    import torch
except ImportError:
    torch = None

#: Stands for the extension, which needs nvcc and a GPU.
OPS = """
class ops:
    @staticmethod
    def softmax(x):
        return x.new_full(x.shape, 7)


def add_op_namespace_prefix(name):
    return name
"""


@unittest.skipUnless(torch, "needs torch")
class TorchPackage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = small_search().export(folder() / "package", format="torch", name="softmax_of_tests") / "torch-ext"
        (place / "softmax_of_tests" / "_ops.py").write_text(OPS)
        cls.stack = ExitStack()
        cls.registered = {}

        def register(name, backward, setup_context=None):
            cls.registered = {"backward": backward, "setup_context": setup_context}

        for target, value in (
            ("torch.library.register_fake", lambda name: lambda function: function),
            ("torch.library.register_autograd", register),
            ("torch.compiler", mock.MagicMock(is_compiling=lambda: False)),
            ("torch.cuda.is_available", lambda: True),
            ("torch.cuda.get_device_capability", lambda device=None: cls.capability),
        ):
            cls.stack.enter_context(mock.patch(target, value, create=True))
        sys.path.insert(0, str(place))
        cls.package = importlib.import_module("softmax_of_tests")

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    def setUp(self):
        type(self).capability = (9, 0)
        self.package.fallbacks.clear()
        self.package._warned_of_sizes = False

    def called(self, *shape):
        class OnGpu(torch.Tensor):
            is_cuda = True
            device = torch.device("cuda", 0)

        return self.package.softmax(torch.randn(shape).bfloat16().as_subclass(OnGpu))

    def test_only_gpus_of_the_architecture_are_supported(self):
        self.assertEqual(self.package.ARCHITECTURES, ["sm_90a"])
        for capability, runs in (((9, 0), True), ((8, 0), False), ((9, 1), False), ((10, 0), False)):
            with self.subTest(capability):
                type(self).capability = capability
                self.assertEqual(self.package.supports(1, 4, 512), runs)
        self.assertFalse(self.package.supports(1, 4, 513))
        for device, runs in (("cpu", False), (torch.device("cpu"), False), ("cuda:0", True), (0, True)):
            type(self).capability = (9, 0)
            self.assertEqual(self.package.supports(1, 4, 512, device=device), runs, device)

    def test_where_there_is_a_kernel_it_computes(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(self.called(1, 1, 512).unique().tolist(), [7.0])
        self.assertFalse(self.package.fallbacks)

    def test_a_size_beyond_those_searched_is_computed_and_said_once(self):
        self.assertTrue(self.package.supports(1, 4, 512))
        self.assertEqual([self.package.searched(1, 1, 512), self.package.searched(1, 4, 512)], [True, False])
        with self.assertWarnsRegex(UserWarning, r"no search was for B, N, M = \(1, 4, 512\)"):
            self.assertEqual(self.called(1, 4, 512).unique().tolist(), [7.0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.called(2, 4, 512)
        self.assertFalse(self.package.fallbacks)

    def test_between_sizes_that_were_searched_nothing_is_said(self):
        with mock.patch.object(self.package, "SEARCHED", [(1, 1, 512), (4, 9, 512)]):
            for sizes, inside in (((2, 3, 512), True), ((4, 9, 512), True), ((5, 3, 512), False), ((2, 3, 256), False)):
                self.assertEqual(self.package.searched(*sizes), inside, sizes)

    def test_what_is_on_the_cpu_torch_computes(self):
        with self.assertWarnsRegex(UserWarning, "the tensors are not on a GPU: torch's own operations"):
            got = self.package.softmax(torch.zeros(1, 4, 512).bfloat16())
        self.assertEqual(got.unique().tolist(), [1 / 512])
        with self.assertRaisesRegex(RuntimeError, "expected x to be torch.bfloat16"):
            self.package.softmax(torch.zeros(1, 4, 512))

    def differentiable(self):
        """What torch makes of the registered functions, with torch's own operation in the kernel's place."""
        registered = self.registered

        class Operation(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                output = torch.softmax(x, -1)
                registered["setup_context"](ctx=ctx, inputs=(x,), output=output)
                return output

            @staticmethod
            def backward(ctx, *gradients):
                return registered["backward"](ctx, *gradients)

        return Operation.apply

    def test_gradients_are_refused_unless_torch_is_to_compute_them(self):
        x = torch.randn(1, 4, 512, requires_grad=True)
        weights = torch.randn(1, 4, 512)
        with self.assertRaisesRegex(RuntimeError, "softmax_of_tests.backward_by_torch = True"):
            (self.differentiable()(x) * weights).sum().backward()
        with mock.patch.object(self.package, "backward_by_torch", True):
            (got,) = torch.autograd.grad((self.differentiable()(x) * weights).sum(), x)
        (want,) = torch.autograd.grad((torch.softmax(x, -1) * weights).sum(), x)
        self.assertTrue(torch.allclose(got, want, atol=1e-6))

    def test_what_torch_computes_is_said_once_and_counted(self):
        with self.assertWarnsRegex(UserWarning, "no kernel for B = 1, N = 4, M = 64: torch's own operations"):
            self.called(1, 4, 64)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertTrue(torch.allclose(self.called(1, 4, 64).float().sum(-1), torch.ones(1, 4), atol=0.02))
        type(self).capability = (8, 0)
        with self.assertWarnsRegex(UserWarning, r"the kernels are for \['sm_90a'\]"):
            self.called(1, 4, 512)
        self.assertEqual(sorted(self.package.fallbacks.values()), [1, 2])

    def test_strictness_refuses_what_torch_would_compute(self):
        with mock.patch.dict(os.environ, EVO_STRICT="1"), self.assertRaisesRegex(RuntimeError, "EVO_STRICT=1 forbids"):
            self.called(1, 4, 64)

    def test_the_version_is_the_kernels_day_with_a_hash(self):
        self.assertRegex(self.package.__version__, r"^20\d\d\.\d+\.\d+\+[0-9a-f]{12}$")
        self.assertEqual(self.package.SEARCHED, [(1, 1, 512)])


if __name__ == "__main__":
    unittest.main()
