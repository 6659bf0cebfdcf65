// The inputs of other judges' problems: numbers, lists and dicts, words of evo's as names, devices that are not there.
#include <cstdlib>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

ProcessOptions with_python(const std::string& python) {
  ProcessOptions options;
  options.environment = {{"EVO_PYTHON", python}};
  return options;
}

void import_described(const Bench& bench, const std::string& description, const std::vector<std::string>& refused) {
  bench.write("p.py", "class Model: pass\n");
  bench.write("answer", description + "\n");
  bench.write("python", "#!/bin/sh\nexec cat '" + (bench / "answer").string() + "'\n");
  std::filesystem::permissions(bench / "python", std::filesystem::perms::owner_all);
  check_refused(bench.evo({"import", "p.py"}, with_python((bench / "python").string())), 2, refused);
}

}  // namespace

TEST_CASE("a description of a problem that is not as evo asks is refused in one line") {
  const Bench bench;
  import_described(bench, "loading", {"p.py: ", "says 'loading'"});
  import_described(bench, R"({"inputs": [], "outputs": []})", {"p.py: ", "describes it otherwise than evo asks"});
  import_described(bench, R"({"kind": 1, "inputs": [{"name": 3}], "outputs": []})",
                   {"p.py: ", "describes it otherwise"});
  import_described(bench, R"({"error": "SystemExit: no"})", {"p.py: SystemExit: no"});
}

TEST_CASE("inputs are numbers, lists and dicts of tensors too, of any name, made for a GPU or printed about",
          "[long]") {
  const std::string python = "/usr/bin/python3";
  if (std::system("/usr/bin/python3 -c 'import torch' >/dev/null 2>&1") != 0) SKIP("no torch for " << python);
  const Bench bench;
  bench.write("p\n.py", R"python(import torch
print("loading")
def made(*sizes):
    return torch.nn.functional.normalize(torch.randn(*sizes), dim=-1)
class Model(torch.nn.Module):
    def forward(self, batch, pair, max, gain, scale, mask=None):
        return {"y": torch.acos((batch["a"] * batch["b"]["c"]).sum(-1)) * scale, "z": pair[0] + (pair[1] + max) * gain.float()}
def get_inputs():
    yield {"a": made(32, 48).cuda(), "b": {"c": made(32, 48).to("cuda")}}
    yield [torch.randn(32, 64, device="cuda"), torch.randn(64)]
    yield torch.randn(64)
    yield torch.tensor(1.5, dtype=torch.float64)
    yield 0.5
    yield None
)python");
  const Outcome imported = bench.evo({"import", "p\n.py", "--name", "nested"}, with_python(python));
  INFO(imported.out << imported.err);
  REQUIRE(imported.code == 0);
  CHECK(holds(imported.out, "get_inputs() makes batch_a, batch_b_c, of each case anew"));
  const auto task = nlohmann::json::parse(bench.read("templates/nested/task.json"));
  std::vector<std::string> names;
  for (const auto& input : task["inputs"]) names.push_back(input["name"]);
  CHECK(names == std::vector<std::string>{"batch_a", "batch_b_c", "pair_0", "pair_1", "max_", "gain"});
  const auto verified = [&](const std::string& half) {
    bench.write("solution.py", R"python(import torch
class ModelNew(torch.nn.Module):
    def forward(self, batch, pair, max, gain, scale, mask=None):
        assert scale == 0.5 and mask is None and gain.dim() == 0 and gain.dtype == torch.float64
        return torch.acos((batch["a"] * batch["b"]["c"]).sum(-1)) * )python" +
                                   half + ", pair[0] + (pair[1] + max) * gain.float()\n");
    return bench.evo({"verify", "solution.py", "--task", "nested", "--device", "vgpu"}, with_python(python)).code;
  };
  CHECK(verified("0.5") == 0);
  CHECK(verified("0.25") == 1);
}

TEST_CASE("inputs that get_inputs() names go where forward() has their names", "[long]") {
  const std::string python = "/usr/bin/python3";
  if (std::system("/usr/bin/python3 -c 'import torch' >/dev/null 2>&1") != 0) SKIP("no torch for " << python);
  const Bench bench;
  const std::string forward = R"python(
    def forward(self, x, mask=None, bias=None):
        assert mask is None
        return x + bias
)python";
  bench.write("p.py", "import torch\nclass Model(torch.nn.Module):" + forward + R"python(
def get_inputs():
    return {"bias": torch.randn(64), "x": torch.randn(32, 64)}
)python");
  const Outcome imported = bench.evo({"import", "p.py", "--name", "named"}, with_python(python));
  INFO(imported.out << imported.err);
  REQUIRE(imported.code == 0);
  bench.write("solution.py", "import torch\nclass ModelNew(torch.nn.Module):" + forward);
  const Outcome verified =
      bench.evo({"verify", "solution.py", "--task", "named", "--device", "vgpu"}, with_python(python));
  INFO(verified.out << verified.err);
  CHECK(verified.code == 0);
}
