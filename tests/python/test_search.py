import contextlib
import io
import os
import re
import shutil
import unittest
from unittest import mock

import evo_kernels as evo
from evo_kernels._program import call
from searched import folder, rows, small_search


class Search(unittest.TestCase):
    def test_a_result_knows_its_best_kernel(self):
        result = small_search()
        self.assertEqual((result.task, result.evaluated, result.interrupted), ("softmax", 3, False))
        best = result.best
        self.assertEqual((best.verdict, best.timing, best.options), ("valid", "modelled", {"causal": False, "dtype": "bf16", "logarithm": False}))
        self.assertGreater(best.latency_us, 0)
        self.assertIn("__global__", best.source)
        self.assertEqual(best, result.elites[0])

    def test_the_table_has_each_candidate_with_its_genes(self):
        result = small_search()
        table = rows(result.table())
        self.assertEqual([row["evaluation"] for row in table], [1, 2, 3])
        best = min((row for row in table if row["verdict"] == "valid"), key=lambda row: row["latency_us"])
        self.assertEqual(best["candidate"], result.best.id)
        for gene, allele in result.best.genes.items():
            self.assertEqual(best[gene], allele)

    def test_a_database_has_elites_samples_and_lineage(self):
        result = small_search()
        db = evo.open(result.db)
        self.assertEqual(db.best(), result.best)
        self.assertEqual(rows(db.elites())[0]["candidate"], result.best.id)
        self.assertEqual(rows(db.runs())[0]["evaluated"], 3)
        self.assertEqual([row["shape"] for row in rows(db.samples(result.best.id))], ["small_one"])
        self.assertEqual(rows(db.lineage(result.best.id))[0]["distance"], 0)
        self.assertEqual(len(db.candidates()), 3)

    def test_a_page_is_shown_in_a_frame_of_its_own(self):
        page = small_search().report()
        self.assertTrue(page.text.startswith("<!"))
        shown = page._repr_html_()
        self.assertTrue(shown.startswith('<iframe srcdoc="&lt;!'))
        self.assertEqual(shown.count("<"), 2)  # The frame's own: the page is quoted.
        self.assertEqual(page.save(folder() / "page.html").read_text(encoding="utf-8"), page.text)

    def test_an_export_is_one_file(self):
        file = small_search().export(folder() / "best.cu", name="my_softmax")
        self.assertIn("cudaError_t my_softmax(", file.read_text(encoding="utf-8"))

    def test_progress_is_shown_in_lines_where_there_is_no_terminal(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            result = evo.run("softmax", shapes="small_one", device="vgpu", evals=1, check_time="0", db=small_search().db)
        self.assertIn(f"run {result.run}: softmax on vgpu:h200", said.getvalue())
        self.assertTrue(re.search(r"1/1 evaluated|100%", said.getvalue()), said.getvalue())

    def refused(self, code, words, call, *args, **kwargs):
        with self.assertRaisesRegex(evo.EvoError, words) as caught:
            call(*args, **kwargs)
        self.assertEqual(caught.exception.exit_code, code)
        self.assertEqual(str(caught.exception).count("\n"), 0)

    def test_errors_are_the_programs_words_with_its_exit_code(self):
        db = small_search().db
        self.refused(2, "unknown task 'sofmax'; did you mean 'softmax'", evo.run, "sofmax", db=db, progress=False)
        self.refused(2, "no shape|unknown shape|shape", evo.run, "softmax", shapes="tiny", db=db, progress=False)
        self.refused(2, "there is no database", evo.open, folder() / "none.db")
        self.refused(2, "candidate 99", lambda: evo.Candidate(99, db).document)
        self.refused(1, "no elite of task rms_norm", evo.open(db).best, "rms_norm")

    def test_what_the_program_says_beside_its_result_is_warned_of(self):
        program = folder() / "evo"
        program.write_text('#!/bin/sh\necho "warning: the clock is not locked" >&2\necho \'{"elites": []}\'\n')
        program.chmod(0o755)
        with mock.patch.dict(os.environ, EVO_PROGRAM=str(program)), self.assertWarnsRegex(UserWarning, "clock is not"):
            call(["elites", "--json"])

    def test_a_page_is_of_one_database(self):
        other = shutil.copy(small_search().db, folder() / "other.db")
        self.refused(2, "a page is of one database, not of", evo.report, small_search(), evo.open(other))
        self.refused(2, "a page is of one database, not of", evo.report, small_search(), db=other)

    def test_shapes_are_names_sizes_or_both(self):
        from evo_kernels._program import shape_texts

        self.assertEqual(shape_texts(None), [])
        self.assertEqual(shape_texts("mission"), ["mission"])
        self.assertEqual(shape_texts((1, 8, 512, 64)), ["1,8,512,64"])
        self.assertEqual(shape_texts(["mission", (1, 8), {"B": 1, "H": 2}]), ["mission", "1,8", "B=1,H=2"])


if __name__ == "__main__":
    unittest.main()
