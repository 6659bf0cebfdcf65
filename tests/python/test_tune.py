import os
import unittest
import warnings
from unittest import mock

import evo_kernels as evo
from evo_kernels._reference import reference_source
from searched import FORM, SAXPY, folder

try:
    import numpy as np
except ImportError:
    np = None
try:
    import torch
except ImportError:
    torch = None

FACTOR = 0.5
BF16 = "#include <cuda_bf16.h>\n" + SAXPY.replace("const float* x", "const __nv_bfloat16* x").replace(
    "a * x[i]", "a * __bfloat162float(x[i])"
)


def scaled(x):
    return FACTOR * x


def right(y, x):
    return y + scaled(x)


def with_numpy(y, x):
    return np.add(y, FACTOR * x)


def with_torch(y, x):
    import torch

    return torch.add(y, FACTOR * x)


def wrong(y, x):
    return y + 0.6 * x


class Tune(unittest.TestCase):
    def tuned(self, reference, **more):
        return evo.tune("saxpy", shapes=[{"N": 70}], reference=reference, db=folder() / "evo.db", **{**FORM, **more})

    def test_a_kernel_of_the_file_is_the_reference(self):
        file = folder() / "saxpy.cu"
        file.write_text(SAXPY)
        form = {**FORM, "source": None, "reference_grid": [1], "reference_block": [1]}
        result = evo.tune(f"{file}:saxpy", shapes=[{"N": 70}], reference="saxpy_plain", db=folder() / "evo.db", **form)
        self.assertEqual((result.task, result.best.verdict), ("saxpy", "valid"))
        self.assertFalse(result.document["self_consistent"])

    def test_faults_of_the_form_are_named(self):
        with self.assertRaisesRegex(evo.EvoError, "saxpy.json: .*no kernel saxpi; did you mean 'saxpy'"):
            evo.tune("saxpi", shapes=[{"N": 70}], name="saxpy", db=folder() / "evo.db", **FORM)

    @unittest.skipUnless(torch and np, "needs torch and numpy")
    def test_a_function_is_the_reference(self):
        for reference in (right, with_numpy):
            with self.subTest(reference.__name__):
                result = self.tuned(reference)
                self.assertEqual(result.document["verdicts"], {"valid": 2})
        self.assertIn("cudaError_t evo_saxpy(", result.export(folder() / "saxpy.cu").read_text())

    @unittest.skipUnless(np, "needs numpy")
    def test_numpy_suffices_for_a_reference(self):
        hidden = folder()
        (hidden / "torch.py").write_text("raise ModuleNotFoundError('hidden', name='torch')")
        path = f"{hidden}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        with mock.patch.dict(os.environ, PYTHONPATH=path):
            for reference in (right, with_numpy):
                self.assertEqual(self.tuned(reference).document["verdicts"], {"valid": 2})
            with self.assertRaisesRegex(evo.EvoError, "reference.py needs torch") as caught:
                self.tuned(with_torch)
            self.assertEqual(caught.exception.exit_code, 3)
            with self.assertRaisesRegex(evo.EvoError, "TypeError: numpy has no dtype bf16"):
                self.tuned(right, source=BF16, arguments=["y=inout float[N]", "x=bf16[N]", "float:0.5", "N"])

    @unittest.skipUnless(np, "needs numpy")
    def test_a_reference_takes_along_all_that_it_names(self):
        names = {}
        exec(reference_source(with_names, ["y", "x"]), names)
        found = names["reference"](y=np.zeros(3, "f4"), x=np.ones(3, "f4"))[0]
        self.assertEqual([float(one) for one in found], [1.5] * 3)

    @unittest.skipUnless(torch, "needs torch")
    def test_a_wrong_answer_is_found_by_the_function(self):
        result = self.tuned(wrong)
        self.assertEqual(result.document["verdicts"], {"wrong_answer": 2})
        with self.assertRaisesRegex(evo.EvoError, "no valid kernel of saxpy; the first was rejected for: .*relative L2"):
            result.best

    def test_what_a_reference_cannot_take_along_is_named(self):
        handle = object()

        def with_handle(y, x):
            return handle

        with self.assertRaisesRegex(evo.EvoError, "uses handle, a object, which cannot be written"):
            self.tuned(with_handle)
        with self.assertRaisesRegex(evo.EvoError, "uses ARRAYS, a list, which cannot be written"):
            self.tuned(with_arrays)
        with self.assertRaisesRegex(evo.EvoError, "takes z: the task's inputs and options are"):
            self.tuned(lambda_of_z)

    @unittest.skipUnless(torch and np, "needs torch and numpy")
    def test_a_tuned_function_searches_once_for_each_key(self):
        db = folder() / "evo.db"

        def decorated():
            @evo.tuned("saxpy", key=["N"], db=db, **FORM)
            def saxpy(y, x):
                return y + 0.5 * x

            return saxpy

        saxpy = decorated()
        with self.assertWarnsRegex(UserWarning, "no GPU: calls are computed in Python"):
            found = saxpy(np.ones(40, "f4"), np.ones(40, "f4"))
        self.assertEqual(found.tolist(), [1.5] * 40)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # It is said once.
            saxpy(np.ones(40, "f4"), np.ones(40, "f4"))
        self.assertEqual(saxpy.calls, {"computed in Python": 2})
        self.assertFalse(os.path.exists(db))  # Where nothing is launched, nothing is searched.
        for size in (40, 70):
            saxpy.best({"N": size})
        for size in (40, 70):
            self.assertEqual(decorated().best({"N": size}), saxpy.best({"N": size}))  # Of the database.
        self.assertEqual(len(evo.open(db).runs()), 2)

    @unittest.skipUnless(np, "needs numpy")
    def test_a_tuned_function_is_named_after_all_that_decides_what_is_right(self):
        place = folder()
        (place / "factor.h").write_text("// 1")
        (place / "saxpy.cu").write_text('#include "factor.h"\n' + SAXPY)

        def name(**more):
            form = {**FORM, "source": None, **more}
            return evo.tuned(f"{place}/saxpy.cu:saxpy", key=["N"], **form)(right)._task((40,))

        before = name()
        self.assertRegex(before, "^right_N40_[0-9a-f]{8}$")
        self.assertEqual(before, name(evals=7, db="other.db"))
        self.assertNotEqual(before, name(limits={"relative_l2": 1}))
        (place / "factor.h").write_text("// 2")
        self.assertNotEqual(before, name())

    @unittest.skipUnless(np, "needs numpy")
    def test_a_tuned_function_refuses_other_dtypes(self):
        with self.assertRaisesRegex(evo.EvoError, "y is float, not float16"):
            evo.tuned("saxpy", key=["N"], **FORM)(right)(np.ones(40, "f2"), np.ones(40, "f4"))

    @unittest.skipUnless(np, "needs numpy")
    def test_a_tuned_function_with_scratch_gives_the_launcher_its_workspace(self):
        form = {**FORM, "arguments": ["y=out float[ceil_div(N, 2)]", "x=float[N]", "part=scratch float[N]", "N"]}
        tuned = evo.tuned("halves", key=["N"], **form)(right)
        kernel = mock.Mock(tensors=[mock.Mock(), mock.Mock()], sizes=["N"])
        kernel.tensors[0].name, kernel.tensors[1].name = "x", "y"
        kernel.workspace_bytes.return_value = 160
        x = np.ones(5, "f4")
        y, = tuned._launched(kernel, [x], {"N": 5})
        kernel.workspace_bytes.assert_called_once_with(N=5)
        (given, result), words = kernel.call_args
        self.assertTrue(given is x and result is y)
        self.assertEqual((y.shape, y.dtype), ((3,), np.float32))
        self.assertEqual((words["workspace"].nbytes, words["N"]), (160, 5))


NEG = float("-inf")
WEIGHTS = (FACTOR, [2.0])
ARRAYS = [object()]


def with_names(y: "np.ndarray", x: np.ndarray if np else None, factor=FACTOR, *, least=NEG) -> "np.ndarray":
    def within(z: np.ndarray) -> np.ndarray:
        return np.maximum(scaled(z), NEG)

    return sum(within(x) for _ in WEIGHTS[1]) + (lambda z: WEIGHTS[1][0] * z)(factor) * x


def with_arrays(y, x):
    return ARRAYS


def lambda_of_z(y, z):
    return y


if __name__ == "__main__":
    unittest.main()
