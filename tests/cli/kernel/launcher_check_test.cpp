// What evo verify makes of nvcc and of the program that it builds. Both are played by shell scripts here; the program
// itself is checked in tests/population/launcher_check_test.cpp.
#include "cli/check/launcher_check.h"

#include <cstdlib>

#include "tests/cli/bench.h"

using namespace evo::cli;
using namespace evo::testing;

namespace {

/// An exported toy and an nvcc that runs `script`; its last argument, the program to make, is $out.
class PlayedNvcc {
 public:
  PlayedNvcc() {
    write_toy_task(bench_);
    REQUIRE(bench_.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "4", "--quiet"}).code == 0);
    REQUIRE(bench_.evo({"export", "-o", "best.cu"}).code == 0);
    ::setenv("CUDA_HOME", bench_.folder().c_str(), 1);
  }
  ~PlayedNvcc() { ::unsetenv("CUDA_HOME"); }

  LauncherCheck check(const std::string& script, const std::string& uuid = "GPU-1") const {
    bench_.write("bin/nvcc", "#!/bin/sh\nfor out; do :; done\n" + script);
    std::filesystem::permissions(bench_ / "bin/nvcc", std::filesystem::perms::owner_all);
    evo::DeviceInfo device;
    device.id = "cuda:0";
    device.kind = "cuda";
    device.arch = "sm_90a";
    device.uuid = uuid;
    const std::string path = (bench_ / "best.cu").string();
    return check_launcher(path, exported_claims(path), device);
  }

  /// With a program that runs `program` at each shape, which is $1.
  LauncherCheck check_program(const std::string& program) const {
    return check("printf '%s\\n' '#!/bin/sh' '" + program + "' > \"$out\"; chmod +x \"$out\"\n");
  }

 private:
  Bench bench_;
};

using State = LauncherCheck::State;

}  // namespace

TEST_CASE("a launcher is right when the program that nvcc builds is content at every shape") {
  const PlayedNvcc nvcc;
  const LauncherCheck right = nvcc.check_program("test $CUDA_VISIBLE_DEVICES = GPU-1 && test $2 = check");
  CHECK(right.why.empty());
  CHECK(right.state == State::right);
  CHECK(right.shapes.size() > 1);
  CHECK(holds(right.shapes.front(), "="));
}

TEST_CASE("a launcher is wrong when the program says so, fails or does not build") {
  const PlayedNvcc nvcc;
  const LauncherCheck wrong = nvcc.check_program("echo toy; echo \"  refusals  WRONG, accepted x\"; exit 1");
  CHECK(wrong.state == State::wrong);
  CHECK(holds(wrong.why, ": refusals  WRONG, accepted x"));
  const LauncherCheck killed = nvcc.check_program("kill -SEGV $$");
  CHECK(killed.state == State::wrong);
  CHECK(holds(killed.why, "killed by SIGSEGV"));
  const LauncherCheck unbuilt = nvcc.check("echo \"check.o: undefined reference to evo_toy\"; echo more; exit 1");
  CHECK(unbuilt.state == State::wrong);
  CHECK(unbuilt.why == "nvcc does not build it: check.o: undefined reference to evo_toy");
}

TEST_CASE("a launcher is not checked where nvcc or a GPU is missing") {
  const PlayedNvcc nvcc;
  CHECK(nvcc.check("exit 0", "").why == "cuda:0 is no GPU");
  const LauncherCheck fatal = nvcc.check("echo \"nvcc fatal   : no host compiler\"; exit 1");
  CHECK(fatal.state == State::not_checked);
  CHECK(fatal.why == "nvcc fatal   : no host compiler");
  const LauncherCheck none = nvcc.check_program("echo \"no GPU: no device\" >&2; exit 3");
  CHECK(none.state == State::not_checked);
  CHECK(none.why == "no GPU: no device");
}
