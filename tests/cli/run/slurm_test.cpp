// `evo run --slurm` and `--workers slurm`, with stand-ins for Slurm's commands. tests/cluster/run uses Slurm itself.
#include <sys/wait.h>

#include <cstdlib>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

/// Slurm's commands: an allocation of the nodes n1 and n2, which are this host.
void write_slurm(const Bench& bench) {
  std::filesystem::create_directory(bench / "slurm");
  bench.write("slurm/salloc",
              "#!/bin/sh\necho \"$@\" > asked\nwhile case $1 in -*) true;; *) false;; esac; do shift; done\n"
              "SLURM_JOB_NODELIST='n[1-2]' \"$@\"\ncode=$?\necho ended >> asked\nexit $code\n");
  bench.write("slurm/scontrol", "#!/bin/sh\n[ \"$*\" = 'show hostnames n[1-2]' ] && printf 'n1\\nn2\\n'\n");
  bench.write("slurm/srun", "#!/bin/sh\nwhile [ \"$1\" != -w ]; do shift; done\nshift 2\nexec \"$@\"\n");
  for (const char* name : {"salloc", "scontrol", "srun"})
    std::filesystem::permissions(bench / "slurm" / name, std::filesystem::perms::owner_all);
}

/// `evo` in the bench's folder, with this PATH. Its output is in the files `out` and `err`.
int evo_with_path(const Bench& bench, const std::string& path, const std::string& arguments) {
  const std::string line = "cd '" + bench.folder().string() +
                           "' && unset SLURM_JOB_NODELIST && EVO_TEMPLATES=templates PATH=\"" + path + "\" '" +
                           EVO_BINARY + "' " + arguments + " > out 2> err";
  const int status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr const char* kStandIns = "$PWD/slurm:$PATH";

}  // namespace

TEST_CASE("a run with --slurm searches on the nodes of an allocation, which ends with it", "[long]") {
  const ToyBench bench;
  write_slurm(bench);
  const int code = evo_with_path(
      bench, kStandIns,
      "run --task toy --devices vgpu:h200 --slurm '-t5 --comment=\"two nodes\"' --evals 4 --seed 3 --quiet");
  INFO(bench.read("err"));
  REQUIRE(code == 0);
  const std::string asked = bench.read("asked");
  CHECK(holds(asked, "--no-kill --ntasks-per-node=1 -t5 --comment=two nodes"));
  CHECK(holds(asked, "run --task toy --devices vgpu:h200 --evals 4 --seed 3 --quiet --workers slurm\nended\n"));
  CHECK(bench.json({"runs"})["runs"][0]["further_devices"].size() == 1);
}

TEST_CASE("where there is no Slurm, or no allocation, evo says so") {
  const ToyBench bench;
  CHECK(evo_with_path(bench, "/nowhere", "run --task toy --slurm -N2") == 3);
  CHECK(holds(bench.read("err"), "evo: --slurm: there is no salloc in PATH"));
  CHECK(evo_with_path(bench, kStandIns, "run --task toy --workers slurm") == 2);
  CHECK(holds(bench.read("err"), "this is no Slurm allocation"));
}
