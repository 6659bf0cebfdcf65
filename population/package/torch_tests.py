"""Tests of __NAME__, for a machine with a GPU: python3 tests/test___NAME__.py"""

import os
import unittest
import warnings
from unittest import mock

import torch

import __NAME__ as package

ops = package.ops
function = package.__TASK__
operator = ops.__TASK__.default
into_outputs = ops.__TASK___out.default

#: Sizes with a kernel: __SIZES__.
SIZES = [__SIZES_OF_TESTS__]
#: Sizes without one.
OUTSIDE = __OUTSIDE_SIZES__
#: What an output's relative L2 error may be, by its number. None: it is exact.
LIMITS = [__LIMITS__]
#: The number of the output that holds an output's scales, or None.
SCALES = [__OUTPUT_SCALES__]
#: An input and a dimension of it that another input or a number decides.
DISAGREEING = __DISAGREEING__


__DRAWS__


def inputs(__SIZES__):
    torch.manual_seed(1)
    return [
        __INPUTS__
    ]


def listed(results):
    return [results] if isinstance(results, torch.Tensor) else list(results)


def real(results, number):
    """An output's real values, in f64."""
    values = results[number].double()
    if SCALES[number] is None:
        return values
    scales = results[SCALES[number]].double()
    for dim, size in enumerate(values.shape):
        scales = scales.repeat_interleave(-(-size // scales.shape[dim]), dim).narrow(dim, 0, size)
    return values * scales


def bits(tensor):
    return tensor.contiguous().view(torch.uint8)


class Tests(unittest.TestCase):
    def assert_same(self, got, want):
        got, want = listed(got), listed(want)
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want):
            self.assertEqual(a.dtype, b.dtype)
            self.assertTrue(torch.equal(bits(a), bits(b)))

    def test_agrees_with_torch(self):
        if not hasattr(package, "reference"):
            self.skipTest("the task has no reference in torch")
        for sizes in SIZES:
            arguments = inputs(*sizes)
            got = listed(function(*arguments))
            want = listed(package._outside(*arguments, None))
            for number, limit in enumerate(LIMITS):
                with self.subTest(sizes=sizes, output=number):
                    self.assertEqual(got[number].shape, want[number].shape)
                    self.assertEqual(got[number].dtype, want[number].dtype)
                    a, b = real(got, number), real(want, number)
                    if limit is None:
                        self.assertTrue(torch.equal(a, b))
                    else:
                        error = ((a - b).norm() / b.norm()).item()
                        self.assertLessEqual(error, limit)

    def test_out_holds_the_same_bits(self):
        for sizes in SIZES:
            arguments = inputs(*sizes)
            want = listed(function(*arguments))
            out = [torch.full_like(tensor.float(), 7).to(tensor.dtype) for tensor in want]
            out = out[0] if len(out) == 1 else tuple(out)
            self.assertIs(function(*arguments, out=out), out)
            self.assert_same(out, want)

    def test_sizes_without_a_kernel(self):
        if OUTSIDE is None:
            self.skipTest("there is a kernel for every size")
        arguments = inputs(*OUTSIDE)
        self.assertFalse(package.supports(*OUTSIDE))
        with self.assertRaisesRegex(RuntimeError, "no kernel for"):
            operator(*arguments)
        if hasattr(package, "reference"):
            want = listed(package._outside(*arguments, None))
            self.assert_same(function(*arguments), want)
            out = [torch.empty_like(tensor) for tensor in want]
            function(*arguments, out=out[0] if len(out) == 1 else out)
            self.assert_same(out, want)
        else:
            with self.assertRaisesRegex(RuntimeError, "no kernel for"):
                function(*arguments)

    def test_what_torch_computes_is_said_once_and_counted(self):
        if OUTSIDE is None or not hasattr(package, "reference"):
            self.skipTest("torch computes no call")
        arguments = inputs(*OUTSIDE)
        package.fallbacks.clear()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(2):
                function(*arguments)
        self.assertEqual((len(said), list(package.fallbacks.values())), (1, [2]))
        with mock.patch.dict(os.environ, EVO_STRICT="1"), self.assertRaisesRegex(RuntimeError, "EVO_STRICT=1"):
            function(*arguments)

    def test_only_gpus_of_its_architectures_are_supported(self):
        self.assertTrue(package.supports(*SIZES[0]))
        with mock.patch("torch.cuda.get_device_capability", return_value=(7, 5)):
            self.assertFalse(package.supports(*SIZES[0]))

    def test_opcheck(self):
        arguments = inputs(*SIZES[0])
        self.opcheck(operator, arguments)
        self.opcheck(into_outputs, self.arguments_with_outputs(arguments))

    def opcheck(self, op, arguments):
        for check in ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"):
            with self.subTest(op=op, check=check):
                try:
                    torch.library.opcheck(op, arguments, test_utils=check)
                except Exception as error:
                    # What torch compares FP8 tensors with has no FP8.
                    if "not implemented for 'Float8" not in str(error):
                        raise

    def arguments_with_outputs(self, arguments):
        results = [tensor.clone() for tensor in listed(operator(*arguments))]
        return [*arguments[:__PLAIN_INPUTS__], *results, *arguments[__READ_COUNT__:]]

    def test_compiles_as_one_graph(self):
        arguments = inputs(*SIZES[0])
        compiled = torch.compile(lambda *given: function(*given), fullgraph=True)
        self.assert_same(compiled(*arguments), function(*arguments))

    def test_cuda_graph(self):
        arguments = inputs(*SIZES[0])
        want = [tensor.clone() for tensor in listed(function(*arguments))]
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            got = function(*arguments)
        for tensor in listed(got):
            tensor.zero_()
        graph.replay()
        torch.cuda.synchronize()
        self.assert_same(got, want)

    def test_runs_in_the_current_stream(self):
        arguments = inputs(*SIZES[0])
        want = listed(function(*arguments))
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)  # What ran in another stream would be done before this is.
            later = [tensor.clone() for tensor in arguments]
            got = listed(function(*later))
        torch.cuda.current_stream().wait_stream(stream)
        self.assert_same(got, want)

    def test_gradients_are_refused(self):
        arguments = inputs(*SIZES[0])
        floating = [tensor for tensor in arguments if tensor.dtype in (torch.float16, torch.bfloat16, torch.float32)]
        if not floating:
            self.skipTest("no input can have a gradient")
        floating[0].requires_grad_()
        results = [tensor for tensor in listed(function(*arguments)) if tensor.requires_grad]
        self.assertTrue(results)
        with self.assertRaisesRegex(RuntimeError, "has no backward"):
            results[0].float().sum().backward()
        with self.assertRaisesRegex(RuntimeError, "don't support automatic differentiation"):
            function(*arguments, out=tuple(torch.empty_like(tensor) for tensor in results))
        with torch.no_grad():
            function(*arguments)

    def test_torch_computes_gradients_where_that_is_chosen(self):
        arguments = inputs(*SIZES[0])
        floating = [tensor for tensor in arguments if tensor.dtype in (torch.float16, torch.bfloat16, torch.float32)]
        if not floating or not hasattr(package, "reference"):
            self.skipTest("no input can have a gradient")
        for tensor in floating:
            tensor.requires_grad_()

        def gradients(call):
            results = [tensor for tensor in listed(call(*arguments)) if tensor.requires_grad]
            return torch.autograd.grad([tensor.float().sum() for tensor in results], floating, allow_unused=True)

        with mock.patch.object(package, "backward_by_torch", True):
            got = gradients(function)
        for a, b in zip(got, gradients(package._by_reference)):
            self.assertEqual(a is None, b is None)
            if a is not None:
                torch.testing.assert_close(a, b)

    def refused(self, arguments, message):
        for call in (operator, function):
            with self.assertRaisesRegex(RuntimeError, message):
                call(*arguments)

    def test_wrong_tensors_are_refused(self):
        right = inputs(*SIZES[0])
        for number in range(__READ_COUNT__):
            with self.subTest(input=number):
                def with_other(tensor):
                    return [*right[:number], tensor, *right[number + 1 :]]

                tensor = right[number]
                other = torch.float64 if tensor.dtype != torch.float64 else torch.float32
                self.refused(with_other(tensor.to(other)), "expected .* to be torch")
                self.refused(with_other(tensor.unsqueeze(0)), "dimensions")
                wide = torch.zeros((*tensor.shape[:-1], 2 * tensor.shape[-1]), device="cuda").to(tensor.dtype)
                # What is also written is copied first, and copies are dense.
                if number < __PLAIN_INPUTS__ and tensor.numel() > 1 and tensor.shape[-1] > 1:
                    apart = wide[..., ::2]
                    self.refused(with_other(apart), "contiguous|strides")
                if __READ_COUNT__ > 1:
                    self.refused(with_other(tensor.cpu()), "CUDA tensor|same device|device")

    def test_wrong_shapes_are_refused(self):
        if DISAGREEING is None:
            self.skipTest("no two dimensions must agree")
        right = inputs(*SIZES[0])
        number, dim = DISAGREEING
        shape = list(right[number].shape)
        shape[dim] += 1
        longer = torch.zeros(shape, device="cuda").to(right[number].dtype)
        self.refused([*right[:number], longer, *right[number + 1 :]], "of shape")

    def test_torch_computes_what_is_on_the_cpu(self):
        arguments = [tensor.cpu() if isinstance(tensor, torch.Tensor) else tensor for tensor in inputs(*SIZES[0])]
        if hasattr(package, "reference"):
            self.assert_same(function(*arguments), package._outside(*arguments, None))
            with mock.patch.dict(os.environ, EVO_STRICT="1"), self.assertRaisesRegex(RuntimeError, "EVO_STRICT=1"):
                function(*arguments)
        else:
            with self.assertRaisesRegex(RuntimeError, "CUDA tensor"):
                function(*arguments)

    def test_a_size_beyond_those_searched_is_said_once(self):
        beyond = [sizes for sizes in SIZES if not package.searched(*sizes)]
        if not beyond:
            self.skipTest("every size of these tests was searched")
        with mock.patch.object(package, "_warned_of_sizes", False), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(2):
                function(*inputs(*beyond[0]))
        self.assertEqual(["no search was for" in str(warning.message) for warning in said], [True])

    def test_views(self):
        """A view that begins at a multiple of __ALIGNMENT__ bytes is taken, another one is refused."""
        right = inputs(*SIZES[0])
        want = listed(function(*right))
        tensor = right[0]

        def placed(bytes_further):
            memory = torch.zeros(tensor.numel() * tensor.element_size() + 512, dtype=torch.uint8, device="cuda")
            memory = memory[bytes_further:][: tensor.numel() * tensor.element_size()]
            view = memory.view(tensor.dtype).view(tensor.shape)
            view.copy_(tensor)
            return view

        self.assert_same(function(placed(__ALIGNMENT__), *right[1:]), want)
        self.refused([placed(__ALIGNMENT__ // 2), *right[1:]], "multiple of __ALIGNMENT__ bytes")


if __name__ == "__main__":
    unittest.main()
