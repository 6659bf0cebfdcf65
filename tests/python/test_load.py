import os
import shutil
import subprocess
import unittest
from pathlib import Path

import evo_kernels as evo
from evo_kernels._arrays import check_array, dim_value, torch_device
from evo_kernels._load import nvcc
from searched import folder, small_search


class Array:
    """Memory of a GPU, as libraries of arrays show it."""

    def __init__(self, *shape, strides=None, typestr="<V2"):
        self.shape = shape
        self.__cuda_array_interface__ = {
            "data": (4096, False), "shape": shape, "strides": strides, "typestr": typestr,
        }  # fmt: skip


@unittest.skipUnless(Path(nvcc()).is_file(), "needs nvcc")
class Load(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["EVO_CACHE"] = str(folder())
        cls.kernel = evo.load(small_search(), arrays="cuda")

    def test_a_launcher_knows_its_tensors_and_sizes(self):
        self.assertEqual([(one.name, one.use, one.dtype) for one in self.kernel.tensors],
                         [("x", "in", "bf16"), ("y", "out", "bf16")])  # fmt: skip
        self.assertEqual(self.kernel.sizes, ["B", "N", "M"])

    def test_it_is_built_once(self):
        built = {path: path.stat().st_mtime_ns for path in Path(os.environ["EVO_CACHE"]).rglob("*.so")}
        evo.load(small_search().best, arrays="cuda")
        after = {path: path.stat().st_mtime_ns for path in Path(os.environ["EVO_CACHE"]).rglob("*.so")}
        self.assertEqual(len(built), 1)
        self.assertEqual(built, after)

    def test_what_it_cannot_take_is_said(self):
        for arrays, words in (
            ([Array(1, 4, 512)], "takes 2 arrays, x .in., y .out.: 1 were given"),
            ([Array(1, 4, 512), Array(1, 4, 512, typestr="<f4")], "y is bf16, not float32"),
            ([Array(1, 4, 512), Array(1, 3, 512)], "N is 4, and y has 3 of it"),
            ([Array(4, 512), Array(1, 4, 512)], r"x is \[B, N, M\], not \[4, 512\]"),
            ([Array(1, 4, 512), Array(1, 4, 512, strides=(1, 2, 3))], "dense and row-major"),
            ([4096, 8192], "no shape tells B, N, M: give it by name"),
            ([[1.0], Array(1, 4, 512)], "a list is no array of the GPU"),
            ([Array(1, 4, 500), Array(1, 4, 500)], "a size without a kernel"),
        ):
            with self.subTest(words), self.assertRaisesRegex(evo.EvoError, words):
                self.kernel(*arrays)

    def test_words_that_it_does_not_know_are_refused(self):
        with self.assertRaisesRegex(evo.EvoError, "there is no strem"):
            self.kernel(Array(1, 4, 512), Array(1, 4, 512), strem=0)

    def test_candidates_of_two_databases_are_not_mixed(self):
        other = shutil.copy(small_search().db, folder() / "other.db")
        with self.assertRaisesRegex(evo.EvoError, "candidates of one database"):
            evo.load([small_search().best, evo.Candidate(small_search().best.id, other)], arrays="cuda")

    def test_only_results_candidates_and_databases_are_loaded(self):
        with self.assertRaisesRegex(evo.EvoError, "takes a result, a candidate or a database, not a float"):
            evo.load(1.5)


class Dims(unittest.TestCase):
    def test_computed_dims_are_checked(self):
        sizes = {"M": 4, "N": 300, "scaling": "blocks", "page": 0}
        for dim, value in (
            ("ceil_div(N, 128)", 3),
            ("scaling == 'tensor' ? 1 : scaling == 'rows' ? N : ceil_div(N, 128)", 3),
            ("(page > 0 || !M ? page : N) * M / 2 + 1", 601),
            ("rows", None),
        ):
            self.assertEqual(dim_value(dim, sizes), value, dim)
        check_array("s", Array(4, 3, typestr="<f4"), "f32", ("M", "ceil_div(N, 128)"), sizes)
        with self.assertRaisesRegex(evo.EvoError, r"where ceil_div\(N, 128\) is 3, not \[4, 2\]"):
            check_array("s", Array(4, 2, typestr="<f4"), "f32", ("M", "ceil_div(N, 128)"), sizes)

    def test_a_number_that_is_missing_is_named(self):
        text = "cudaError_t evo_scale(float a, int n, cudaStream_t stream) {\n"
        library = folder() / "scale.c"
        library.write_text("int _Z9evo_scale(float a, int n, void* s) { return 0; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", str(library), "-o", str(library.with_suffix(".so"))], check=True)
        kernel = evo.ArrayKernel(text, library.with_suffix(".so"))
        kernel(a=0.5, n=3)
        with self.assertRaisesRegex(evo.EvoError, "evo_scale: there is no b; give a by name"):
            kernel(b=0.5, n=3)

    def test_tensors_of_several_devices_are_refused(self):
        Tensor = type("Tensor", (), {"__module__": "torch"})
        one, other = Tensor(), Tensor()
        one.device, other.device = "cuda:0", "cuda:1"
        self.assertEqual(torch_device([one, 4096]), "cuda:0")
        with self.assertRaisesRegex(evo.EvoError, "several devices: cuda:0, cuda:1"):
            torch_device([one, other])


if __name__ == "__main__":
    unittest.main()
