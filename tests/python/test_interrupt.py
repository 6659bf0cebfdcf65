import json
import signal
import subprocess
import sys
import unittest

import evo_kernels as evo
from searched import folder

SEARCH = """
import json, sys
import evo_kernels as evo
result = evo.run("softmax", shapes="small_one", device="vgpu", evals=100000, seed=1, check_time="0", db=sys.argv[1])
print(json.dumps([result.interrupted, result.evaluated, result.run]))
"""


class Interrupt(unittest.TestCase):
    def test_an_interrupted_search_has_a_result_and_goes_on(self):
        db = str(folder() / "evo.db")
        child = subprocess.Popen(
            [sys.executable, "-c", SEARCH, db], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        with child:
            while "evaluated" not in (line := child.stderr.readline()):
                self.assertNotEqual(line, "", "the search ended before it was interrupted")
            child.send_signal(signal.SIGINT)
            printed, said = child.communicate()
        self.assertEqual(child.returncode, 0, said)
        interrupted, evaluated, run = json.loads(printed)
        self.assertTrue(interrupted)
        self.assertGreater(evaluated, 0)

        resumed = evo.resume(run, evals=evaluated + 2, check_time="0", db=db, progress=False)
        self.assertEqual((resumed.run, resumed.evaluated, resumed.interrupted), (run, evaluated + 2, False))


if __name__ == "__main__":
    unittest.main()
