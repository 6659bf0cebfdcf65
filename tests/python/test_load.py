import os
import unittest
from pathlib import Path

import evo_kernels as evo
from evo_kernels._load import nvcc
from searched import folder, small_search


class Array:
    """Memory of a GPU, as libraries of arrays show it."""

    def __init__(self, *shape, strides=None):
        self.shape = shape
        self.__cuda_array_interface__ = {"data": (4096, False), "shape": shape, "strides": strides}


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
            ([Array(1, 4, 512), Array(1, 3, 512)], "N is 4, and y has 3 of it"),
            ([Array(4, 512), Array(1, 4, 512)], r"x is \[B, N, M\], not \[4, 512\]"),
            ([Array(1, 4, 512), Array(1, 4, 512, strides=(1, 2, 3))], "dense and row-major"),
            ([4096, 8192], "no shape tells B, N, M: give it by name"),
            ([[1.0], Array(1, 4, 512)], "a list is no array of the GPU"),
            ([Array(1, 4, 500), Array(1, 4, 500)], "a size without a kernel"),
        ):
            with self.subTest(words), self.assertRaisesRegex(evo.EvoError, words):
                self.kernel(*arrays)

    def test_only_results_candidates_and_databases_are_loaded(self):
        with self.assertRaisesRegex(evo.EvoError, "takes a result, a candidate or a database, not a float"):
            evo.load(1.5)


if __name__ == "__main__":
    unittest.main()
