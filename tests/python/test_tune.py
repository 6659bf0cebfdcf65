import os
import unittest
import warnings
from unittest import mock

import evo_kernels as evo
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
        self.assertEqual(decorated().best({"N": 40}), saxpy.best({"N": 40}))  # Of the database.
        self.assertEqual(len(evo.open(db).runs()), 1)


def lambda_of_z(y, z):
    return y


if __name__ == "__main__":
    unittest.main()
