// evo import of problems of other judges, and evo verify of somebody else's solution. Needs a python with torch: the
// system's, where Debian's python3-torch is installed.
#include <cstdlib>

#include "bench.h"

using namespace evo::testing;

namespace {

const char* const kPython = "/usr/bin/python3";

bool has_torch() {
  static const bool found = std::system("/usr/bin/python3 -c 'import torch' >/dev/null 2>&1") == 0;
  return found;
}

ProcessOptions with_torch() {
  ProcessOptions options;
  options.environment = {{"EVO_PYTHON", kPython}};
  return options;
}

/// A python that has no torch.
ProcessOptions without_torch(const Bench& bench) {
  std::filesystem::create_directories(bench / "none");
  bench.write("none/torch.py", "raise ImportError('no torch here')\n");
  ProcessOptions options;
  options.environment = {{"EVO_PYTHON", kPython}, {"PYTHONPATH", (bench / "none").string()}};
  return options;
}

const char* const kDefinition = R"json({
  "name": "scaled_sum_n64", "op_type": "misc", "description": "c = A + factor B",
  "axes": {"M": {"type": "var"}, "N": {"type": "const", "value": 64}},
  "inputs": {"A": {"shape": ["M", "N"], "dtype": "float32"}, "M": {"shape": ["M", "N"], "dtype": "float32"},
             "factor": {"shape": null, "dtype": "float32"}},
  "outputs": {"C": {"shape": ["M", "N"], "dtype": "float32"}},
  "reference": "import torch\n\ndef run(A, M, factor):\n    assert isinstance(factor, float)\n    return A + factor * M"
})json";

const char* const kSoftmax = R"python(import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)

batch_size, dim = 4096, 393216

def get_inputs():
    return [torch.rand(batch_size, dim)]

def get_init_inputs():
    return []
)python";

const char* const kNormedLinear = R"python(import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.gain = nn.Parameter(torch.ones(outputs))

    def forward(self, x):
        return self.gain * torch.tanh(self.linear(x))

def get_inputs():
    return [torch.rand(128, 24)]

def get_init_inputs():
    return [24, 40]
)python";

/// A problem of robust-kbench: forward() gets what its Model passes on, a number among it.
const char* const kRobust = R"python(import torch
import torch.nn as nn

def forward_fn(x, weight, eps):
    """Scales rows to a mean square of 1.

    Args:
        x: input"""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight

class Model(nn.Module):
    def __init__(self, features, eps=1e-2):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.eps = eps

    def forward(self, x, fn=forward_fn):
        return fn(x, self.weight, self.eps)

def get_inputs(rows=8, features=8):
    return [torch.randn(rows, features)]

input_names = ["x"]
)python";

/// In f32 the second half errs by up to 1e-3, where 1e-4 is allowed: the last bits of x go. Beside values SCALE times
/// as large that is little of the whole output.
std::string rounding_problem(const std::string& scale, const std::string& before = "") {
  return "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n" + before +
         "        return torch.stack([" + scale + " * x, (x + 3e4) - 3e4])\n\n" +
         "def get_inputs():\n    return [torch.rand(64, 40)]\n";
}

std::string solution(const std::string& body) {
  return "import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return " + body + "\n";
}

}  // namespace

TEST_CASE("a Definition of flashinfer-bench becomes a task without torch") {
  const Bench bench;
  bench.write("sum.json", kDefinition);
  const Outcome outcome = bench.evo({"import", "sum.json"}, without_torch(bench));
  REQUIRE(outcome.code == 0);
  CHECK(holds(outcome.out, "templates/scaled_sum_n64: the task scaled_sum_n64, a Definition of flashinfer-bench"));
  const auto task = nlohmann::json::parse(bench.read("templates/scaled_sum_n64/task.json"));
  CHECK(task["shape_parameters"] == nlohmann::json{"M", "N"});
  CHECK(task["inputs"][1]["name"] == "M_");  // M is an axis.
  CHECK(task["inputs"][2]["dims"] == nlohmann::json{"1"});
  CHECK(task["shapes"]["open37"]["N"] == 64);
  CHECK(task["outputs"][0]["limits"]["rtol"] == 1e-4);
  CHECK(holds(bench.evo({"tasks"}).out, "scaled_sum_n64"));
  check_refused(bench.evo({"import", "sum.json"}), 2, {"is there already", "--name"});
}

TEST_CASE("a Definition's output in the place of an input has another name, and its bytes and booleans are tensors",
          "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const Bench bench;
  bench.write("add.json", R"json({
  "name": "add_in_place", "axes": {"N": {"type": "const", "value": 16}},
  "inputs": {"x": {"shape": ["N"], "dtype": "uint8"}, "keep": {"shape": ["N"], "dtype": "bool"}},
  "outputs": {"x": {"shape": ["N"], "dtype": "uint8"}},
  "reference": "import torch\n\ndef helper():\n    pass\n\ndef _add_reference(x, keep):\n    return {'x': torch.where(keep, x, x + 1)}"
})json");
  REQUIRE(bench.evo({"import", "add.json"}).code == 0);
  CHECK(nlohmann::json::parse(bench.read("templates/add_in_place/task.json"))["outputs"][0]["name"] == "x_");
  const auto verified = [&](const std::string& value) {
    bench.write("add.py", "import torch\n\ndef forward(x, keep):\n    return " + value + "\n");
    return bench.evo({"verify", "add.py", "--task", "add_in_place", "--device", "vgpu"}, with_torch()).code;
  };
  CHECK(verified("x + (~keep).to(torch.uint8)") == 0);
  CHECK(verified("x + keep.to(torch.uint8)") == 1);
}

TEST_CASE("what is no problem, or one that evo cannot say, is refused in one line") {
  const Bench bench;
  std::string text = kDefinition;
  bench.write("four.json", text.replace(text.find("float32"), 7, "float4_e2m1"));
  check_refused(bench.evo({"import", "four.json"}), 2, {"four.json: inputs A has dtype float4_e2m1"});
  text = kDefinition;
  bench.write("axis.json", text.replace(text.find("[\"M\", \"N\"]"), 10, "[\"K\", \"N\"]"));
  check_refused(bench.evo({"import", "axis.json"}), 2, {"axis.json: it makes no task", "'K'"});
  bench.write("list.json", R"({"axes": [], "inputs": 1, "reference": 1})");
  check_refused(bench.evo({"import", "list.json"}), 2, {"list.json"});
  text = kDefinition;
  bench.write("open.json", text.replace(text.find("\"reference\""), 11, "\"text\""));
  check_refused(bench.evo({"import", "open.json"}), 2, {"open.json: it has no reference"});
  text = kDefinition;
  bench.write("empty.json", text.replace(text.find("def run"), 7, "lambda "));
  check_refused(bench.evo({"import", "empty.json"}), 2, {"empty.json: its reference has no function run"});
  bench.write("softmax.py", kSoftmax);
  check_refused(bench.evo({"import", "softmax.py"}, without_torch(bench)), 2,
                {"torch is needed to read it", "no torch here", "EVO_PYTHON"});
}

TEST_CASE("a Definition's reference judges a solution, and a machine without torch says so", "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const Bench bench;
  bench.write("sum.json", kDefinition);
  REQUIRE(bench.evo({"import", "sum.json", "--name", "sums"}).code == 0);
  const std::vector<std::string> verify = {"verify", "right.py", "--task", "sums", "--device", "vgpu"};
  bench.write("right.py", "class ModelNew:\n    def __call__(self, a, m, factor):\n        return a + factor * m\n");
  const Outcome right = bench.evo(verify, with_torch());
  CHECK(right.code == 0);
  CHECK(holds(right.out, "right, worst relative error "));
  check_refused(bench.evo(verify, without_torch(bench)), 3, {"right.py cannot be run", "no torch here"});
}

TEST_CASE("a problem of KernelBench becomes a task, and its solutions are judged on every case", "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const Bench bench;
  bench.write("23_Softmax.py", kSoftmax);
  const Outcome imported = bench.evo({"import", "23_Softmax.py", "--name", "kb_softmax"}, with_torch());
  REQUIRE(imported.code == 0);
  const auto task = nlohmann::json::parse(bench.read("templates/kb_softmax/task.json"));
  CHECK(task["shapes"]["theirs"] == nlohmann::json{{"A", 4096}, {"B", 393216}});
  CHECK(task["shapes"]["small"] == nlohmann::json{{"A", 16}, {"B", 24}});
  CHECK(task["outputs"][0]["dims"] == nlohmann::json{"A", "B"});

  const auto verified = [&](const std::string& body, int code) {
    bench.write("solution.py", solution(body));
    const Outcome outcome =
        bench.evo({"verify", "solution.py", "--task", "kb_softmax", "--device", "vgpu", "--json"}, with_torch());
    INFO(body);
    CHECK(outcome.code == code);
    return nlohmann::json::parse(outcome.out);
  };
  const auto right = verified("torch.softmax(x, dim=1)", 0);
  CHECK(right["right"] == true);
  CHECK(right["cases"].get<int>() >= 5);  // Every regime.
  CHECK(right["relative_l2"].get<double>() < 1e-6);
  CHECK(verified("torch.softmax(x, dim=0)", 1)["wrong"].size() > 0);
  // Zeros are within 1e-4 of small values, where a judge that looks at elements alone lets them pass.
  const auto zeros = verified("torch.zeros_like(x)", 1);
  CHECK(zeros["wrong"].size() == zeros["cases"].get<std::size_t>());
  CHECK(holds(zeros["wrong"][0]["why"], "relative L2 error 1"));
  const auto raises = verified("undefined_name", 1);
  CHECK(holds(raises["wrong"][0]["why"], "undefined_name"));
  CHECK(holds(verified("x[:3]", 1)["wrong"][0]["why"], "instead of"));
}

TEST_CASE("parameters of a Model are inputs of the task, and a solution's Model gets them", "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const Bench bench;
  bench.write("9_Linear.py", kNormedLinear);
  REQUIRE(bench.evo({"import", "9_Linear.py", "--name", "linear"}, with_torch()).code == 0);
  const auto task = nlohmann::json::parse(bench.read("templates/linear/task.json"));
  std::vector<std::string> names;
  for (const auto& input : task["inputs"]) names.push_back(input["name"]);
  CHECK(names == std::vector<std::string>{"x", "gain", "linear_weight", "linear_bias"});
  CHECK(task["inputs"][2]["dims"] == nlohmann::json{"40", "B"});
  CHECK(holds(task["inputs"][2]["draw"].get<std::string>(), "normal(0, 0.204"));
  // The rows may be any number, the columns are those of the weights.
  CHECK(task["shapes"]["small"] == nlohmann::json{{"A", 16}, {"B", 24}});

  const auto verified = [&](const std::string& layers, const std::string& forward, int code) {
    bench.write("solution.py",
                "import torch\nimport torch.nn as nn\n\nclass ModelNew(nn.Module):\n"
                "    def __init__(self, inputs, outputs):\n        super().__init__()\n" +
                    layers + "    def forward(self, x):\n        return " + forward + "\n");
    const Outcome outcome =
        bench.evo({"verify", "solution.py", "--task", "linear", "--device", "vgpu", "--json"}, with_torch());
    CHECK(outcome.code == code);
    return nlohmann::json::parse(outcome.out);
  };
  const std::string gain = "        self.gain = nn.Parameter(torch.ones(outputs))\n";
  const std::string linear = "        self.linear = nn.Linear(inputs, outputs)\n";
  const std::string apart =  // Other names in the same order.
      "        self.g = nn.Parameter(torch.ones(outputs))\n"
      "        self.w = nn.Parameter(torch.randn(outputs, inputs))\n        self.b = "
      "nn.Parameter(torch.randn(outputs))\n";
  CHECK(verified(linear + gain, "self.gain * torch.tanh(self.linear(x))", 0)["right"] == true);
  CHECK(verified(apart, "self.g * torch.tanh(x @ self.w.T + self.b)", 0)["right"] == true);
  const auto without_bias = verified(apart, "self.g * torch.tanh(x @ self.w.T)", 1);
  CHECK(holds(without_bias["wrong"][0]["why"], "relative L2 error"));
  // A gain of ones is what the judge's own Model has.
  CHECK(verified(apart, "torch.tanh(x @ self.w.T + self.b)", 1)["wrong"].size() > 0);
  const auto others = verified(gain, "self.gain * x[:, :1]", 1);
  CHECK(holds(others["wrong"][0]["why"], "ModelNew has the parameters ['gain'], and not those of Model"));
}

TEST_CASE("a problem of robust-kbench becomes a task, and its forward() is called as its Model does", "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const Bench bench;
  bench.write("rmsnorm/func_forward.py", kRobust);
  check_refused(bench.evo({"import", "rmsnorm/func_forward.py"}, with_torch()), 2,
                {"no config_forward.json beside it"});
  bench.write("rmsnorm/config_forward.json",
              R"({"single_input_configs": [{"rows": 100}], "single_init_configs": [{"eps": 0.5}],
                  "single_shared_configs": [{"features": 64}]})");
  const Outcome imported = bench.evo({"import", "rmsnorm/func_forward.py"}, with_torch());
  REQUIRE(imported.code == 0);
  CHECK(holds(imported.out, "templates/rmsnorm: the task rmsnorm, a problem of robust-kbench"));
  const auto task = nlohmann::json::parse(bench.read("templates/rmsnorm/task.json"));
  CHECK(task["shapes"]["theirs"] == nlohmann::json{{"A", 100}, {"B", 64}});
  CHECK(task["shapes"]["small"] == nlohmann::json{{"A", 16}, {"B", 64}});
  const auto verified = [&](const std::string& body) {
    bench.write("forward.py", "import torch\n\ndef forward(x, weight, eps):\n    return " + body + "\n");
    return bench.evo({"verify", "forward.py", "--task", "rmsnorm", "--device", "vgpu"}, with_torch());
  };
  CHECK(verified("x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight").code == 0);
  const Outcome wrong = verified("x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight");
  CHECK(wrong.code == 1);
  CHECK(holds(wrong.out, "relative L2 error"));
}

TEST_CASE("no solution is held to less error than the problem's own code makes, and to little more", "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  for (const std::string scale : {"1000", "1"}) {  // Single elements are beyond their limit, or the whole output.
    const Bench bench;
    bench.write("rounds.py", rounding_problem(scale));
    REQUIRE(bench.evo({"import", "rounds.py", "--name", "rounds"}, with_torch()).code == 0);
    int set_aside = 0;
    const auto why_wrong = [&](const std::string& second) -> std::string {
      bench.write("solution.py", solution("torch.stack([" + scale + " * x, " + second + "])"));
      const Outcome outcome =
          bench.evo({"verify", "solution.py", "--task", "rounds", "--device", "vgpu", "--json"}, with_torch());
      REQUIRE(outcome.code <= 1);
      const auto judged = nlohmann::json::parse(outcome.out);
      set_aside = judged["set_aside"];
      return judged["right"] == true ? "" : judged["wrong"][0]["why"];
    };
    INFO("scale " << scale);
    CHECK(why_wrong("(x + 3e4) - 3e4") == "");
    CHECK(set_aside >= 2);  // In other regimes than the first a large answer's usual error passes by itself.
    CHECK(why_wrong("x") == "");
    CHECK(set_aside == 0);
    CHECK(why_wrong("3e4 - (3e4 - x)") == "");
    CHECK(why_wrong("(x + 1e6) - 1e6") != "");  // 30 times as far.
    CHECK(why_wrong("x + 0.1 * (x == x.max())") != "");
    CHECK(why_wrong("0 * x") != "");
    CHECK(why_wrong("x.clamp(-1, 1)") != "");
  }
}

TEST_CASE("a kernel is held to no less error than the problem's own code makes, either", "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const Bench bench;
  bench.write("rounds.py", rounding_problem("1000"));
  REQUIRE(bench.evo({"import", "rounds.py", "--name", "rounds"}, with_torch()).code == 0);
  const auto verified = [&](const std::string& second) {
    bench.write("rounds.cu",
                "__global__ void rounds(const float* x, float* y, int n) {\n"
                "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                "  if (i < n) { y[i] = 1000 * x[i]; y[n + i] = " +
                    second + "; }\n}\n");
    return bench.evo({"verify", "rounds.cu", "--task", "rounds", "--device", "vgpu", "--launch",
                      "rounds<<<(A * B + 63) / 64, 64>>>(x, y, A * B)"},
                     with_torch());
  };
  const Outcome right = verified("(x[i] + 3e4f) - 3e4f");
  if (holds(right.err, "NVRTC")) SKIP(right.err);
  CHECK(right.code == 0);
  CHECK(verified("x[i]").code == 0);
  const Outcome wrong = verified("(x[i] + 1e6f) - 1e6f");
  CHECK(wrong.code == 1);
  CHECK(holds(wrong.out, "beyond atol 0.0001"));
}

TEST_CASE("where a problem's own code fails in the types of its tensors, its solutions are judged without it",
          "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const Bench bench;
  bench.write("fails.py", rounding_problem("1000",
                                           "        if x.dtype == torch.float32 and x.device.type != 'meta':\n"
                                           "            raise TypeError('not in f32')\n"));
  REQUIRE(bench.evo({"import", "fails.py", "--name", "fails"}, with_torch()).code == 0);
  const auto verified = [&](const std::string& second) {
    bench.write("solution.py", solution("torch.stack([1000 * x, " + second + "])"));
    return bench.evo({"verify", "solution.py", "--task", "fails", "--device", "vgpu"}, with_torch());
  };
  const Outcome right = verified("x");
  CHECK(right.code == 0);
  const Outcome wrong = verified("(x + 3e4) - 3e4");
  CHECK(wrong.code == 1);
  CHECK(holds(wrong.out, "beyond atol 0.0001"));
}

TEST_CASE("a solution is judged by a task of evo's own, too", "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const ToyBench bench;
  bench.write("sum.py", "class ModelNew:\n    def __call__(self, a, b):\n        return a + b\n");
  CHECK(bench.evo({"verify", "sum.py", "--task", "toy", "--device", "vgpu"}, with_torch()).code == 0);
  bench.write("sum.py", "class ModelNew:\n    def __call__(self, a, b):\n        return a - b\n");
  const Outcome wrong = bench.evo({"verify", "sum.py", "--task", "toy", "--device", "vgpu"}, with_torch());
  CHECK(wrong.code == 1);
  CHECK(holds(wrong.out, "wrong in "));
  check_refused(bench.evo({"verify", "none.cu", "--task", "toy"}), 2, {"'none.cu' is no file"});
  check_refused(bench.evo({"verify", "1", "--shapes", "tiny"}), 2, {"--shapes, --option and --launch go with --task"});
}

TEST_CASE("kernels of a task whose reference is torch are searched, stored, verified and exported", "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const ToyBench bench;
  auto task = nlohmann::json::parse(bench.read("templates/toy/task.json"));
  task["reference"] = {{"torch", true}};
  bench.write("templates/toy/task.json", task.dump());
  bench.write("templates/toy/reference.py",
              "import torch\ndef reference(a, b, *, mode, **_):\n    return a.double() + b.double()\n");
  const std::vector<std::string> run = {"run", "--task", "toy", "--device", "vgpu", "--evals", "3", "--seed", "1"};
  const Outcome found = bench.evo(run, with_torch());
  REQUIRE(found.code == 0);
  CHECK(bench.evo({"verify", "1"}, with_torch()).code == 0);
  CHECK(holds(bench.evo({"export", "1"}, with_torch()).out, "cudaError_t evo_toy("));
  const Outcome missing = bench.evo(run, without_torch(bench));
  CHECK(missing.code == 3);
  CHECK(holds(missing.err, "toy/reference.py needs torch"));
  // Another reference is another task, and a wrong one rejects right kernels.
  bench.write("templates/toy/reference.py", "def reference(a, b, **_):\n    return a - b\n");
  const Outcome wrong = bench.evo(run, with_torch());
  CHECK(wrong.code == 1);
  CHECK(holds(wrong.out, "3 wrong_answer"));
  bench.write("templates/toy/reference.py", "def reference(a, b, **_):\n    return a[:2]\n");
  const Outcome short_one = bench.evo(run, with_torch());
  CHECK(short_one.code == 2);
  CHECK(holds(short_one.err, "toy/reference.py: shape "));
  CHECK(holds(short_one.err, "instead of"));
}

namespace {

/// A python that gives this answer, as the describing script did with torch.
ProcessOptions that_answers(const Bench& bench, const nlohmann::ordered_json& answer) {
  bench.write("answer", answer.dump() + "\n");
  bench.write("python", "#!/bin/sh\nexec cat '" + (bench / "answer").string() + "'\n");
  std::filesystem::permissions(bench / "python", std::filesystem::perms::owner_all);
  ProcessOptions options;
  options.environment = {{"EVO_PYTHON", (bench / "python").string()}};
  return options;
}

nlohmann::ordered_json recorded_answer() {
  return nlohmann::ordered_json::parse(R"json({"kind": "KernelBench",
    "inputs": [{"name": "A_", "dtype": "f32", "dims": [96, 96], "promises": ["upper triangular", "of numbers from 0 to 1"]},
               {"name": "y", "dtype": "f32", "dims": [96, 224], "promises": ["of numbers from 0 to 1"],
                "promised_draw": "uniform(0, 1)"},
               {"name": "gain", "dtype": "f32", "dims": ["1"]}],
    "outputs": [{"name": "y_", "dtype": "f32", "dims": [96, "112"]}],
    "parameters": {"A": 96, "B": 224}, "small": null, "reference": "\n", "torch": "2.11.0"})json");
}

}  // namespace

TEST_CASE("what get_inputs() promises of inputs and evo's draws do not keep is said at import") {
  const Bench bench;
  bench.write("p.py", "class Model: pass\n");
  const Outcome outcome = bench.evo({"import", "p.py", "--name", "promised"}, that_answers(bench, recorded_answer()));
  REQUIRE(outcome.code == 0);
  CHECK(holds(outcome.out,
              "input A_: get_inputs() makes it upper triangular, of numbers from 0 to 1; evo's draws do not"));
  CHECK(holds(outcome.out, "(\"draw\": \"uniform(0, 1)\" in task.json keeps it)"));
  CHECK_FALSE(holds(outcome.out, "input gain"));
}

TEST_CASE("an input may be called y, and a size of the output that only looks like an input's is a number") {
  const Bench bench;
  bench.write("p.py", "class Model: pass\n");
  REQUIRE(bench.evo({"import", "p.py", "--name", "named_y"}, that_answers(bench, recorded_answer())).code == 0);
  const auto task = nlohmann::json::parse(bench.read("templates/named_y/task.json"));
  CHECK(task["inputs"][1]["name"] == "y");
  CHECK(task["outputs"][0]["name"] == "y_");
  CHECK(task["outputs"][0]["dims"] == nlohmann::json{"A", "112"});
  CHECK(task["inputs"][2]["dims"] == nlohmann::json{"1"});
}

TEST_CASE("a Definition whose reference names what it does not have is refused with the names") {
  const Bench bench;
  const auto imported = [&](const std::string& reference) {
    auto definition = nlohmann::json::parse(kDefinition);
    definition["reference"] = reference;
    bench.write("d.json", definition.dump());
    return bench.evo({"import", "d.json", "--name", "named"}, without_torch(bench));
  };
  check_refused(imported("def run(A, M, factor):\n    return _scaled(torch.exp(A), M)\n"), 2,
                {"d.json: its reference names _scaled, torch, which are neither Python's nor in it"});
  check_refused(
      imported("import torch\n\n@torch.no_grad()\ndef run(A, M, factor):\n    return [F.relu(a) for a in A]\n"), 2,
      {"its reference names F, which is"});
  check_refused(imported("import torch\ndef run(A, M, factor:\n    return A\n"), 2,
                {"its reference is no Python: line "});
  const Outcome right = imported(
      "import math, torch\nfrom typing import Optional\nSCALE = 2\nclass Helper:\n    size = SCALE\n"
      "    def of(self, x: Optional[int]):\n        global late\n        late = x\n        return late * self.size\n"
      "def run(A, M, factor):\n    f = lambda a: helper(a) + sum(b for b in range(3))\n"
      "    try:\n        return f(A)\n    except ValueError as error:\n        raise RuntimeError(error, __name__)\n"
      "def helper(a):\n    return math.sqrt(Helper().of(a))\n");
  CHECK(right.code == 0);
}

TEST_CASE("how a Definition says that its inputs are made is said not to be followed") {
  const Bench bench;
  auto definition = nlohmann::json::parse(kDefinition);
  definition["constraints"] = {"M == 2 * N"};
  definition["inputs"]["A"]["init"] = "softmax";
  bench.write("d.json", definition.dump());
  const Outcome outcome = bench.evo({"import", "d.json", "--name", "made"}, without_torch(bench));
  CHECK(outcome.code == 0);
  CHECK(holds(outcome.out, "input A: its init, \"softmax\", is not followed"));
  // The size of an open axis follows from them.
  CHECK(nlohmann::json::parse(bench.read("templates/made/task.json"))["shapes"]["open37"]["M"] == 128);
  CHECK_FALSE(holds(outcome.out, "constraints"));
  definition["constraints"] = {"A[-1] == N"};
  definition["inputs"]["A"] = {{"shape", {"M", "N"}}, {"dtype", "float32"}, {"description", "Probabilities"}};
  definition["inputs"]["late"] = {{"shape", {"K"}}, {"dtype", "unknown"}, {"optional", true}};
  definition["axes"]["K"] = {{"type", "var"}};
  bench.write("d.json", definition.dump());
  const Outcome other = bench.evo({"import", "d.json", "--name", "other"}, without_torch(bench));
  CHECK(
      holds(other.out, "constraints that are not followed: choose shapes and draws in task.json that meet A[-1] == N"));
  CHECK(holds(other.out, "input A, \"Probabilities\": evo draws numbers of any sign"));
  CHECK(holds(other.out, "input late is optional: the task is without it"));
}

TEST_CASE("an init is not followed where torch is not at hand, and its inputs are drawn") {
  const Bench bench;
  auto definition = nlohmann::json::parse(kDefinition);
  definition["init"] = "import torch\ndef init(M, N):\n    return {'A': torch.rand(M, N)}\n";
  bench.write("d.json", definition.dump());
  const Outcome outcome = bench.evo({"import", "d.json", "--name", "made"}, without_torch(bench));
  CHECK(outcome.code == 0);
  CHECK(holds(outcome.out, "input A: its init is not followed: made/reference.py needs torch"));
  CHECK_FALSE(nlohmann::json::parse(bench.read("templates/made/task.json"))["inputs"][0].contains("draw"));
}

TEST_CASE("a Definition's init makes the inputs of each case, and what it does not give is drawn", "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const Bench bench;
  auto definition = nlohmann::json::parse(kDefinition);
  definition["init"] =
      "import torch\ndef helper(*dims):\n    return torch.ones(dims)\n\n"
      "def init(M, N, device='cuda'):\n    return {'A': helper(M, N).to(device), 'factor': 2.0, 'more': 1}\n";
  bench.write("d.json", definition.dump());
  const Outcome outcome = bench.evo({"import", "d.json", "--name", "made"}, with_torch());
  REQUIRE(outcome.code == 0);
  CHECK(holds(outcome.out, "its init makes A, factor, of each case anew"));
  CHECK(holds(outcome.out, "input M_: its init is not followed"));
  bench.write("right.py", "def forward(a, m, factor):\n    return 1 + 2 * m\n");
  CHECK(bench.evo({"verify", "right.py", "--task", "made", "--device", "vgpu"}, with_torch()).code == 0);
}

TEST_CASE("a solution may rely on what get_inputs() always gives, and is judged on other values each time", "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const Bench bench;
  bench.write("p.py",
              "import torch\nimport torch.nn.functional as F\nN = 256\n\nclass Model(torch.nn.Module):\n"
              "    def forward(self, A, probs, labels):\n"
              "        return A @ A, F.kl_div(probs.log(), probs.flip(0)), labels * A[:, :1]\n\n"
              "def get_inputs():\n    return [torch.triu(torch.rand(N, N)), torch.softmax(torch.randn(40, 96), -1),\n"
              "            torch.randint(0, 2, (N, 1)).float() * 2 - 1]\n");
  const Outcome imported = bench.evo({"import", "p.py", "--name", "relies"}, with_torch());
  REQUIRE(imported.code == 0);
  CHECK(holds(imported.out, "get_inputs() makes A_, probs, labels, of each case anew"));
  const auto verified = [&](const std::string& product) {
    bench.write("s.py",
                "import torch\nimport torch.nn.functional as F\n\nclass ModelNew(torch.nn.Module):\n"
                "    def forward(self, A, probs, labels):\n        return " +
                    product + ", F.kl_div(probs.abs().log(), probs.flip(0).abs()), torch.sign(labels) * A[:, :1]\n");
    return bench.evo({"verify", "s.py", "--task", "relies", "--device", "vgpu"}, with_torch());
  };
  const Outcome right = verified("torch.triu(A).abs() @ torch.triu(A)");
  CHECK(right.code == 0);
  CHECK(verified("torch.tril(A) @ A").code == 1);
  // One draw is not the other: a fixed answer is wrong.
  CHECK(verified("0 * A + 0.25").code == 1);
}

TEST_CASE("a Model without an answer for numbers of any sign gets the problem's inputs", "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const Bench bench;
  bench.write("p.py",
              "import torch\n\nclass Model(torch.nn.Module):\n    def __init__(self, a, b=1):\n"
              "        super().__init__()\n        self.scale = a * b\n"
              "    def forward(self, x, skipped=None, *, y):\n"
              "        return {'sum': (torch.log(x) * self.scale).sum(), 'y': (y, y + 1)}\n\n"
              "def get_inputs():\n    return {'y': torch.rand(40, 24), 'x': torch.rand(40, 96) + 0.5}\n\n"
              "def get_init_inputs():\n    return {'a': 2, 'b': 3}\n");
  const Outcome imported = bench.evo({"import", "p.py", "--name", "logs"}, with_torch());
  REQUIRE(imported.code == 0);
  CHECK(holds(imported.out, "get_inputs() makes x, y, of each case anew"));
  bench.write("s.py",
              "import torch\n\nclass ModelNew(torch.nn.Module):\n    def __init__(self, a, b=1):\n"
              "        super().__init__()\n        self.scale = a * b\n"
              "    def forward(self, x, *, y):\n        return x.log().sum() * self.scale, y, 1 + y\n");
  const Outcome right = bench.evo({"verify", "s.py", "--task", "logs", "--device", "vgpu"}, with_torch());
  CHECK(right.code == 0);
}

TEST_CASE("a Model that draws random numbers is refused, and one that normalises by its batch is said to", "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const Bench bench;
  const auto imported = [&](const std::string& layers, const std::string& answer) {
    bench.write("p.py",
                "import torch\n\nclass Model(torch.nn.Module):\n    def __init__(self):\n"
                "        super().__init__()\n        " +
                    layers + "\n    def forward(self, x):\n        return " + answer +
                    "\n\ndef get_inputs():\n    return [torch.randn(16, 32)]\n");
    return bench.evo({"import", "p.py", "--name", "one"}, with_torch());
  };
  check_refused(imported("self.drop = torch.nn.Dropout(0.1)", "self.drop(x)"), 2, {"random numbers", "Dropout drop"});
  check_refused(imported("pass", "x + torch.rand_like(x)"), 2, {"two answers to one input"});
  const Outcome of_batch = imported("self.norm = torch.nn.BatchNorm1d(32)", "self.norm(x)");
  CHECK(of_batch.code == 0);
  CHECK(holds(of_batch.out, "BatchNorm1d norm: takes mean and variance from the batch"));
}

TEST_CASE("inputs are drawn by reference.py only where torch is the reference") {
  const Bench bench;
  write_toy_task(bench);
  auto task = nlohmann::json::parse(bench.read("templates/toy/task.json"));
  task["inputs"][0]["draw"] = "@reference.py";
  bench.write("templates/toy/task.json", task.dump());
  bench.write("templates/toy/reference.py", "def make_inputs(**sizes):\n    return {}\n");
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "1"}), 2,
                {"is drawn by reference.py: that needs \"reference\": {\"torch\": true}"});
}

TEST_CASE("the describing script finds what get_inputs() promises", "[long]") {
  if (!has_torch()) SKIP("no torch for " << kPython);
  const Bench bench;
  bench.write("p.py", R"python(import torch
class Model(torch.nn.Module):
    def forward(self, low, both, probs, labels, logs, y):
        return low @ both + probs.sum() + labels.sum() + logs.sum() + y.sum()
def get_inputs():
    s = torch.rand(96, 96)
    return [torch.tril(torch.randn(96, 96)), s + s.T, torch.softmax(torch.randn(4096, 8000), -1),
            torch.randint(0, 2, (4096,)).float() * 2 - 1, torch.log(torch.rand(4096)), torch.randn(4096)]
)python");
  const Outcome outcome = bench.evo({"import", "p.py"}, with_torch());
  REQUIRE(outcome.code == 0);
  CHECK(holds(outcome.out, "get_inputs() makes low, both, probs, labels, logs, of each case anew"));
  CHECK_FALSE(holds(outcome.out, "input y:"));
}
