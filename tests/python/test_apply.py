import contextlib
import io
import types
import unittest
from unittest import mock

import evo_kernels as evo
from evo_kernels._apply import _fitting
from searched import rows

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None


def kernel_of_sevens(value=7, searched=((1, 6, 64),)):
    """A package as evo export writes it, whose kernel is for rows of 64, and told from torch by its answer."""
    package = types.SimpleNamespace(
        OPTIONS={"dtype": "f32", "causal": False, "logarithm": False},
        supports=lambda B, N, M: M == 64,
        SEARCHED=list(searched),
        softmax=lambda x, out=None: torch.full_like(x, value),
    )
    return evo.Kernel(package, "softmax")


class OnTheCpu(evo.Applied):
    _device = "cpu"


@unittest.skipUnless(torch, "needs torch")
class Apply(unittest.TestCase):
    def applied(self, function, *tensors):
        with torch.no_grad(), OnTheCpu([kernel_of_sevens()], verbose=False) as applied:
            result = function(*tensors)
        return result, rows(applied.report())

    def test_a_call_that_a_kernel_is_for_runs_on_it(self):
        for softmax in (F.softmax, torch.softmax, torch.Tensor.softmax):
            result, calls = self.applied(lambda x: softmax(x, dim=-1), torch.randn(2, 3, 64))
            self.assertEqual((tuple(result.shape), result.unique().tolist()), ((2, 3, 64), [7.0]))
            self.assertEqual([(one["function"], one["calls"], one["routed"]) for one in calls], [("softmax", 1, True)])

    def test_other_calls_are_torchs_and_say_why(self):
        wide, rows64 = torch.randn(2, 128), torch.randn(64, 64)
        for function, tensors, words in (
            (lambda x: torch.softmax(x, 0), [wide], "not over the last dimension"),
            (lambda x: torch.softmax(x, -1), [wide], "no kernel of this size: evo run --task softmax --shapes 1,2,128"),
            (lambda x: torch.softmax(x, -1), [rows64.bfloat16()], "no kernel with these options: evo run"),
            (lambda x: torch.log_softmax(x, -1), [rows64], "no kernel with these options: evo run"),
            (lambda x: F.layer_norm(x, (64,)), [rows64], "there is no weight"),
            (lambda x: F.layer_norm(x, (64,), x[0], x[1]), [rows64], "no kernel of layer_norm: evo run"),
            (lambda x: torch.softmax(x, -1), [rows64.t()], "not contiguous"),
            (lambda x: torch.softmax(x, -1), [torch.randn(3, 2, 64).transpose(0, 1)], "not contiguous"),
            (lambda a, b: a @ b, [rows64, rows64], "dtype torch.float32"),
            (F.linear, [rows64, rows64, rows64[0]], "it adds a bias"),
            (lambda a, b: a @ b, [rows64.bfloat16(), rows64.bfloat16()], "no kernel of gemm_bf16: evo run"),
        ):
            with self.subTest(words):
                result, calls = self.applied(function, *tensors)
                self.assertTrue(torch.equal(result, function(*tensors)))
                self.assertEqual([one["routed"] for one in calls], [False])
                self.assertIn(words, calls[0]["why_not"])

    def test_the_kernel_that_was_timed_nearest_to_a_call_computes_it(self):
        kernels = [kernel_of_sevens(), kernel_of_sevens(8, [(1, 900, 64), (2, 3000, 64)])]
        for rows_, value in ((6, 7), (2, 7), (900, 8), (5000, 8)):
            with OnTheCpu(kernels, verbose=False):
                self.assertEqual(torch.softmax(torch.randn(rows_, 64), -1).unique().tolist(), [value])

    def test_autocast_is_torchs(self):
        with OnTheCpu([kernel_of_sevens()], verbose=False) as applied, torch.autocast("cpu", dtype=torch.bfloat16):
            torch.softmax(torch.randn(3, 64), -1)
        self.assertEqual([one.why_not for one in applied.calls], ["autocast is on: it chooses the dtype"])

    def test_of_a_database_what_was_measured_on_this_gpu_is_kept(self):
        def elite(candidate, latency, gpu="NVIDIA H200", timing="measured", **more):
            return {"candidate": candidate, "latency_us": latency, "device": {"name": gpu}, "timing": timing, "rank": 1,
                    "task": "softmax", "current": True, "provisional": False, **more}  # fmt: skip

        notes = []
        elites = [elite(1, 9.0), elite(2, 1.0, timing="modelled"), elite(3, 2.0, "NVIDIA A100"), elite(4, 3.0, rank=2),
                  elite(5, 4.0, provisional=True), elite(6, 5.0, current=False)]  # fmt: skip
        with mock.patch("torch.cuda.is_available", lambda: True), mock.patch(
            "torch.cuda.get_device_name", lambda: "NVIDIA H200"
        ):
            self.assertEqual([one.id for one in _fitting(elites, "a.db", notes)], [5, 1])
        self.assertEqual(notes, [
            "candidate 2 of softmax is left out: modelled, not measured",
            "candidate 3 of softmax is left out: measured on NVIDIA A100, and this is NVIDIA H200",
            "candidate 5 of softmax is provisional: evo verify 5 --db a.db makes its last checks",
            "candidate 6 of softmax is left out: of an older version of its task",
        ])  # fmt: skip
        self.assertIn("  candidate 2 of softmax is left out", evo.Applied([], False, notes).summary())

    def test_a_call_that_needs_a_gradient_is_torchs(self):
        x = torch.randn(3, 64, requires_grad=True)
        with OnTheCpu([kernel_of_sevens()], verbose=False) as applied:
            torch.softmax(x, -1).sum().backward()
        self.assertEqual(applied.routed, 0)
        self.assertIsNotNone(x.grad)

    def test_a_summary_is_printed_at_the_end(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), evo.apply([kernel_of_sevens()]):
            torch.softmax(torch.randn(3, 64), -1)
        self.assertEqual(said.getvalue(), "evo: 0 of 1 calls routed\n  1 softmax: a tensor is on cpu\n")

    def test_a_profile_has_the_commands_that_search(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(16, 64, bias=False).bfloat16()

            def forward(self, x):
                return torch.softmax(self.layer(x), -1)

        profile = evo.profile(Model(), torch.randn(8, 16).bfloat16())
        self.assertEqual(
            sorted(profile.commands),
            ["evo run --task gemm_bf16 --shapes 8,64,16 --option out=bf16 --option b_layout=nk",
             "evo run --task softmax --shapes 1,8,64 --option dtype=bf16 --option causal=false "
             "--option logarithm=false"],
        )  # fmt: skip
        self.assertAlmostEqual(sum(row["share"] for row in profile.rows), 1)
        self.assertGreater(profile.covered, 0)


if __name__ == "__main__":
    unittest.main()
