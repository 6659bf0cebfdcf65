// Packages for torch and for judges: their files, C++ and Python, without torch and without a GPU.
// tests/gpu/torch_export builds and runs packages for torch, tests/gpu/judges asks the judges.
#include "population/package/package.h"

#include <fmt/ranges.h>

#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "population/export/read_export.h"
#include "tests/population/export_fixture.h"
#include "tests/population/export_program.h"
#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

const SourceTree& shipped() {
  static const SourceTree tree = load_tree(fs::path(EVO_SOURCE_DIR) / "templates");
  return tree;
}

PackageRequest package_of(const SourceTree& tree, const std::string& task, const std::vector<std::string>& shapes) {
  PackageRequest request;
  request.name = "evo_" + task;
  request.kernels = {export_request(tree, task, shapes, {}, 90)};
  if (const auto found = tree.find(torch_reference_path(task)); found != tree.end())
    request.torch_reference = found->second;
  return request;
}

PackageRequest shipped_package(const std::string& task) {
  return package_of(shipped(), task, {load_task(shipped(), task).shape_sets.at("vgpu").timed.front()});
}

const PackageFormat& format_named(std::string_view name) {
  for (const PackageFormat& format : package_formats())
    if (format.name == name) return format;
  throw std::logic_error("there is no such format");
}

const PackageFormat& torch_format() {
  return format_named("torch");
}

/// A package of two kernels, for two shapes of one specialisation.
PackageRequest two_kernels() {
  PackageRequest request = package_of(shipped(), "fp8_sdpa", {"small"});
  request.kernels.push_back(export_request(shipped(), "fp8_sdpa", {"long"}, {}, 90));
  return request;
}

void write_files(const fs::path& folder, const SourceTree& files) {
  for (const auto& [path, text] : files) {
    fs::create_directories((folder / path).parent_path());
    write_text(folder / path, text);
  }
}

constexpr const char* kFakeTorch = EVO_SOURCE_DIR "/tests/population/exported/torch";

/// The names of the headers of a torch of version 2.`minor`, which include those of kFakeTorch.
SourceTree fake_torch(int minor) {
  SourceTree files;
  files["torch/version.h"] = fmt::format("#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR {}\n", minor);
  if (minor >= 10) {
    for (const char* header :
         {"torch/csrc/inductor/aoti_torch/c/shim.h", "torch/csrc/stable/accelerator.h", "torch/csrc/stable/library.h",
          "torch/csrc/stable/ops.h", "torch/csrc/stable/tensor.h", "torch/headeronly/core/ScalarType.h"})
      files[header] = "#include <stable.h>\n";
  } else {
    for (const char* header : {"ATen/ATen.h", "ATen/cuda/CUDAContext.h", "c10/cuda/CUDAGuard.h", "torch/library.h"})
      files[header] = "#include <classic.h>\n";
  }
  return files;
}

/// Compiles a package's binding for a torch of version 2.`minor`.
CommandResult compiled_binding(const SourceTree& files, int minor) {
  const std::string cuda = cuda_include_folder();
  if (cuda.empty()) SKIP("no CUDA headers");
  const TempFolder folder;
  write_files(folder.path(), fake_torch(minor));
  write_text(folder / "binding.cpp", files.at("torch-ext/torch_binding.cpp"));
  return run_command(
      fmt::format("c++ -std=c++17 -Wall -Wextra -fsyntax-only -DTORCH_EXTENSION_NAME=_evo -I{} -I{} -isystem {} {}",
                  folder.path().string(), kFakeTorch, cuda, (folder / "binding.cpp").string()));
}

/// Runs Python on the files of a package.
CommandResult python(const SourceTree& files, const std::string& program) {
  if (run_command("python3 --version").exit_code != 0) SKIP("no python3");
  const TempFolder folder;
  write_files(folder.path(), files);
  write_text(folder / "check.py", program);
  return run_command(fmt::format("cd {} && python3 check.py", folder.path().string()));
}

/// Python that compiles every file.
constexpr std::string_view kReadFiles = R"py(
import ast, pathlib
root = pathlib.Path(".")
for path in root.rglob("*.py"):
    compile(path.read_text(), str(path), "exec")
)py";

/// And reads every table.
constexpr std::string_view kReadTables = R"py(
try:
    import tomllib
    project = tomllib.loads((root / "pyproject.toml").read_text())
    name = project["project"]["name"]
    assert (root / "torch-ext" / name).is_dir(), name
except ImportError:
    name = next(path.name for path in (root / "torch-ext").iterdir() if path.is_dir())
)py";

}  // namespace

TEST_CASE("a package for torch holds the exported file unchanged, a binding, Python and tests") {
  const PackageRequest request = shipped_package("softmax");
  const SourceTree files = torch_format().write(request);
  std::string paths;
  for (const auto& [path, text] : files) paths += path + "\n";
  CHECK(paths ==
        "README.md\nkernels/evo_softmax.cu\npyproject.toml\nsetup.py\n"
        "tests/test_evo_softmax.py\ntorch-ext/evo_softmax/__init__.py\ntorch-ext/evo_softmax/_reference.py\n"
        "torch-ext/torch_binding.cpp\n");
  CHECK(files.at("kernels/evo_softmax.cu") == export_cuda(request.kernels.front(), "evo_softmax"));
  CHECK(files.at("torch-ext/evo_softmax/_reference.py") == shipped().at("softmax/reference.py"));
  CHECK(torch_format().write(request) == files);
}

TEST_CASE("a package's version is the day of its newest kernel with a hash of all, as pip writes it") {
  PackageRequest request = two_kernels();
  const auto version = [&] {
    const std::string project = torch_format().write(request).at("pyproject.toml");
    const std::size_t begin = project.find("version = \"") + 11;
    return project.substr(begin, project.find('"', begin) - begin);
  };
  request.kernels[0].provenance.day = "2026-01-02";
  request.kernels[1].provenance.day = "2025-12-31";
  const std::string first = version();
  CHECK_THAT(first, Catch::Matchers::Matches("2026\\.1\\.2\\+[0-9a-f]{12}"));
  CHECK(version() == first);
  request.kernels[1].provenance.day = "2026-10-20";
  request.kernels[1].programs.front().source += "// another\n";
  CHECK_THAT(version(), Catch::Matchers::Matches("2026\\.10\\.20\\+[0-9a-f]{12}"));
  CHECK(version().substr(11) != first.substr(9));
}

TEST_CASE("a package of evo's own task holds its licence, and that of another task claims none") {
  PackageRequest request = shipped_package("softmax");
  SourceTree files = torch_format().write(request);
  CHECK(!files.contains("LICENSE"));
  CHECK_THAT(files.at("pyproject.toml"), !ContainsSubstring("Apache"));
  CHECK_THAT(files.at("README.md"), ContainsSubstring("under the licence of the sources"));
  request.under_evos_licence = true;
  files = torch_format().write(request);
  CHECK_THAT(files.at("LICENSE"), ContainsSubstring("Apache License"));
  CHECK_THAT(files.at("pyproject.toml"), ContainsSubstring("license = { text = \"Apache-2.0\" }"));
  CHECK(python(files, std::string(kReadFiles) + std::string(kReadTables)).exit_code == 0);
}

TEST_CASE("a package for torch says where its kernels do not hold") {
  PackageRequest request = shipped_package("softmax");
  CHECK_THAT(torch_format().write(request).at("README.md"), !ContainsSubstring("Caution"));
  request.kernels.front().files["softmax/cautions.json"] = R"({"latency": ["Rows of zeros err."]})";
  CHECK_THAT(torch_format().write(request).at("README.md"), ContainsSubstring("- **Caution.** Rows of zeros err.\n"));
}

TEST_CASE("every shipped task has a reference in torch that takes its tensors and options") {
  SourceTree files;
  std::string program = R"py(
import ast
def check(task, tensors, options):
    tree = ast.parse(open(task + ".py").read())
    function = next(node for node in tree.body if getattr(node, "name", "") == "reference")
    taken = [argument.arg for argument in function.args.args]
    assert taken == tensors, (task, taken)
    given = {argument.arg for argument in function.args.kwonlyargs}
    assert given <= options, (task, given)
    assert function.args.kwarg is not None, task
)py";
  const auto quoted = [](const std::string& name) { return fmt::format("\"{}\"", name); };
  for (const std::string& task : task_names(shipped())) {
    const Task loaded = load_task(shipped(), task);
    const auto found = shipped().find(torch_reference_path(task));
    INFO(task);
    REQUIRE(found != shipped().end());
    files[task + ".py"] = found->second;
    std::vector<std::string> tensors, options;
    for (const Tensor& tensor : loaded.inputs) tensors.push_back(quoted(tensor.name));
    for (const Tensor& tensor : loaded.outputs)
      if (tensor.inout) tensors.push_back(quoted(tensor.name));
    for (const Option& option : loaded.options) options.push_back(quoted(option.name));
    program +=
        fmt::format("check(\"{}\", [{}], set([{}]))\n", task, fmt::join(tensors, ", "), fmt::join(options, ", "));
  }
  const CommandResult result = python(files, program);
  CHECK(result.output == "");
  CHECK(result.exit_code == 0);
}

TEST_CASE("a task's reference in torch is no part of the task's hash") {
  SourceTree tree = shipped();
  tree.at("softmax/reference.py") += "# another line\n";
  CHECK(load_task(tree, "softmax").hash == load_task(shipped(), "softmax").hash);
}

TEST_CASE("the binding of every shipped task is C++ for torch's stable ABI and for its classic one", "[long]") {
  const std::string task = GENERATE(from_range(task_names(shipped())));
  const int minor = GENERATE(6, 11);
  CAPTURE(task, minor);
  const PackageRequest request = shipped_package(task);
  const SourceTree files = torch_format().write(request);
  const CommandResult result = compiled_binding(files, minor);
  CHECK(result.output == "");
  CHECK(result.exit_code == 0);
}

TEST_CASE("a binding that names an argument wrongly is noticed") {
  SourceTree files = torch_format().write(shipped_package("softmax"));
  std::string& binding = files.at("torch-ext/torch_binding.cpp");
  binding.replace(binding.find("expect(x, \"x\""), 9, "expect(z,");
  CHECK_THAT(compiled_binding(files, 11).output, ContainsSubstring("was not declared"));
}

TEST_CASE("the binding names every tensor of a call, its dtype and its shape") {
  const PackageRequest request = shipped_package("fp8_sdpa");
  const std::string binding = torch_format().write(request).at("torch-ext/torch_binding.cpp");
  for (const char* text :
       {"m.def(\"fp8_sdpa(Tensor q, Tensor k, Tensor v, Tensor q_scale, Tensor k_scale, Tensor v_scale) -> Tensor\");",
        ("m.def(\"fp8_sdpa_out(Tensor q, Tensor k, Tensor v, Tensor q_scale, Tensor k_scale, Tensor v_scale, "
         "Tensor(a!) o) -> ()\");"),
        "expect(k, \"k\", ScalarType::Float8_e4m3fn, {B, H, S, D}, q, \"q\");",
        "expect(k_scale, \"k_scale\", ScalarType::Float, {B, H}, q, \"q\");",
        "expect(o, \"o\", ScalarType::Half, {B, H, S, D}, q, \"q\");", "expect_contiguous(v, \"v\");"})
    CHECK_THAT(binding, ContainsSubstring(text));
}

TEST_CASE("the Python of every shipped task's package is well formed") {
  SourceTree files;
  std::string program = "import os\n" + std::string(kReadFiles);  // Reads those of all folders.
  for (const std::string& task : task_names(shipped())) {
    for (auto& [path, text] : torch_format().write(shipped_package(task))) files[task + "/" + path] = text;
    program += fmt::format("os.chdir(\"{}\")\n{}os.chdir(\"..\")\n", task, kReadTables);
  }
  const CommandResult result = python(files, program);
  CHECK(result.output == "");
  CHECK(result.exit_code == 0);
}

TEST_CASE("Python that the program holds is well formed with its holes") {
  SourceTree files;
  for (const char* layer : {"evaluator", "population", "cli"}) {
    for (auto& [path, text] : load_tree(std::string(EVO_SOURCE_DIR) + "/" + layer))
      if (path.ends_with(".py")) files[fmt::format("{}/{}", layer, path)] = std::move(text);
  }
  CHECK(files.contains("population/package/torch_module.py"));
  const CommandResult read = python(files, std::string(kReadFiles));
  CAPTURE(read.output);
  CHECK(read.exit_code == 0);
}

TEST_CASE("Python that is not well formed is noticed") {
  SourceTree files = torch_format().write(shipped_package("softmax"));
  files.at("setup.py") += "def broken(:\n";
  CHECK(python(files, std::string(kReadFiles) + std::string(kReadTables)).exit_code != 0);
}

TEST_CASE("a package of several kernels chooses by the size of the call") {
  const SourceTree files = torch_format().write(two_kernels());
  CHECK(files.contains("kernels/evo_fp8_sdpa_0.cu"));
  CHECK(files.contains("kernels/evo_fp8_sdpa_1.cu"));
  CHECK_THAT(files.at("kernels/evo_fp8_sdpa_1.cu"), ContainsSubstring("cudaError_t evo_fp8_sdpa_1("));
  const std::string& binding = files.at("torch-ext/torch_binding.cpp");
  CHECK_THAT(binding, ContainsSubstring("switch (choose(B, H, S, D)) {"));
  CHECK_THAT(binding, ContainsSubstring("status = evo_fp8_sdpa_1("));
  CHECK(compiled_binding(files, 11).output == "");
}

TEST_CASE("kernels of several options do not share a package") {
  PackageRequest request = two_kernels();
  request.kernels[1].provenance.target.options["mask"] = std::string("causal");
  CHECK_THAT(error_of([&] { torch_format().write(request); }), ContainsSubstring("set of options"));
}

TEST_CASE("a task without a reference in torch has a package whose other sizes are refused") {
  PackageRequest request = package_of(toy_tree(), "toy", {"narrow", "wide"});
  const SourceTree files = torch_format().write(request);
  CHECK(!files.contains("torch-ext/evo_toy/_reference.py"));
  CHECK_THAT(files.at("torch-ext/evo_toy/__init__.py"), ContainsSubstring("no kernel for"));
  CHECK(python(files, std::string(kReadFiles) + std::string(kReadTables)).exit_code == 0);
  CHECK(compiled_binding(files, 11).output == "");
}

TEST_CASE("a tensor of a dtype that torch lacks is named") {
  PackageRequest request = package_of(toy_tree(), "toy", {"narrow"});
  for (auto* tensors : {&request.kernels.front().task.inputs, &request.kernels.front().task.outputs})
    for (Tensor& tensor : *tensors)
      if (tensor.dtype == "f32") tensor.dtype = "u16";
  CHECK_THAT(error_of([&] { torch_format().write(request); }), ContainsSubstring("for which torch has no dtype"));
}

TEST_CASE("where there is a kernel is said in Python") {
  const std::string module =
      torch_format().write(shipped_package("gemm_bf16")).at("torch-ext/evo_gemm_bf16/__init__.py");
  CHECK_THAT(module, ContainsSubstring("return M > 0 and N > 0 and K > 0 and ("));
}

// ---- Packages for judges

TEST_CASE("a package for KernelBench is Python, and its kernel's file has none of the words that its checker forbids",
          "[long]") {
  const std::string task =
      GENERATE("softmax", "gemm_bf16", "gemm_fp8", "grouped_gemm", "rms_norm", "f16_sdpa", "fp8_sdpa", "sim_fp8_qkt");
  CAPTURE(task);
  const SourceTree files = format_named("kernelbench").write(shipped_package(task));
  const CommandResult result = python(files, std::string(kReadFiles) + R"py(
import re
text = pathlib.Path("model_new.py").read_text()
assert "__global__" in text and "load_inline" in text
code = re.sub(r"//.*|#.*", "", text)
for word in (r"\btry\s*:", r"\bexcept\b", r"\bpass\b", r"torch\.nn\.functional", r"torch\.softmax", r"torch\.matmul"):
    assert not re.search(word, code), (word, re.search(word, code))
tree = ast.parse(pathlib.Path("model.py").read_text())
names = {node.name for node in tree.body if hasattr(node, "name")}
assert {"Model", "get_inputs", "get_init_inputs", "reference"} <= names, names
# A reference may return a tuple.
scope = {}
exec(compile(ast.Module([n for n in tree.body if getattr(n, "name", "") == "the_output"], []), "model.py", "exec"), scope)
assert scope["the_output"](("y",)) == scope["the_output"]("y") == "y"
assert "return the_output(reference(" in pathlib.Path("model.py").read_text()
# torch says which C++ its headers need.
assert "-std=" not in text.split("extra_cuda_cflags=")[1]
)py");
  CHECK(result.output == "");
  CHECK(result.exit_code == 0);
}

TEST_CASE("KernelBench is asked for the precision of the inputs, or of the output where they are smaller") {
  const auto readme = [](const std::string& task) {
    return format_named("kernelbench").write(shipped_package(task)).at("README.md");
  };
  CHECK_THAT(readme("softmax"), ContainsSubstring("precision=bf16"));
  CHECK_THAT(readme("fp8_sdpa"), ContainsSubstring("precision=fp16"));
  CHECK_THAT(readme("fp8_qkt"), ContainsSubstring("precision=fp32"));
}

TEST_CASE("a package for robust-kbench is a task of it, and its kernel compiles as one source", "[long]") {
  const SourceTree files = format_named("robust-kbench").write(shipped_package("softmax"));
  const CommandResult result = python(files, std::string(kReadFiles) + R"py(
import json
config = json.loads(pathlib.Path("config_forward.json").read_text())
assert config["single_input_configs"] == [{"B": 2, "M": 512, "N": 19}], config
tree = ast.parse(pathlib.Path("func_forward.py").read_text())
functions = {node.name: node for node in tree.body if hasattr(node, "name")}
assert {"forward_fn", "Model", "get_inputs"} <= set(functions)
assert [argument.arg for argument in functions["get_inputs"].args.args] == ["B", "M", "N"]
assert "Args:" in ast.get_docstring(functions["forward_fn"])
)py");
  CHECK(result.output == "");
  CHECK(result.exit_code == 0);
  const std::string nvcc = nvcc_path();
  if (nvcc.empty()) SKIP("no nvcc");
  const TempFolder folder;
  write_files(folder.path(), fake_torch(6));
  write_text(folder / "torch/extension.h",
             "#define PYBIND11_MODULE(name, m) void module_of(fake::Library& m)\n#include <fake.h>\n");
  write_text(folder / "forward.cu", files.at("forward.cu"));
  const CommandResult compiled = run_command(
      fmt::format("{} -std=c++17 -arch=sm_90a -DTORCH_EXTENSION_NAME=evo -I{} -I{} -c {} -o {}", nvcc,
                  folder.path().string(), kFakeTorch, (folder / "forward.cu").string(), (folder / "o").string()));
  CHECK(compiled.output == "");
  CHECK(compiled.exit_code == 0);
}

TEST_CASE("a package for flashinfer-bench is a data set of it") {
  const SourceTree files = format_named("flashinfer-bench").write(two_kernels());
  const CommandResult result = python(files, std::string(kReadFiles) + R"py(
import json, struct
# Its validator passes over files elsewhere.
definition = json.loads(pathlib.Path("definitions/fp8_sdpa/evo_fp8_sdpa.json").read_text())
(path,) = pathlib.Path("solutions").rglob("*.json")
solution = json.loads(path.read_text())
parts = (solution["author"], definition["op_type"], solution["definition"], solution["name"] + ".json")
assert path.parts[1:] == parts, path
traces = [json.loads(line) for line in pathlib.Path("workloads/fp8_sdpa/evo_fp8_sdpa.jsonl").read_text().splitlines()]
assert solution["definition"] == definition["name"] == traces[0]["definition"]
assert any(getattr(node, "name", "") == "run" for node in ast.parse(definition["reference"]).body)
for tensor in (*definition["inputs"].values(), *definition["outputs"].values()):
    assert set(tensor["shape"]) <= set(definition["axes"]), tensor
assert not set(definition["inputs"]) & set(definition["outputs"])
path, function = solution["spec"]["entry_point"].split("::")
assert [source["path"] for source in solution["sources"]] == [path] and function == "forward"
assert [trace["workload"]["axes"]["S"] for trace in traces] == [128, 4096]
for trace in traces:
    inputs = trace["workload"]["inputs"]
    assert inputs["q"] == {"type": "random"}
    data = pathlib.Path(inputs["q_scale"]["path"]).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])["q_scale"]
    axes = trace["workload"]["axes"]
    assert header["shape"] == [axes["B"], axes["H"]] and header["data_offsets"] == [0, 4 * axes["B"] * axes["H"]]
    values = struct.unpack(f"<{axes['B'] * axes['H']}f", data[8 + size :])
    assert all(0.5 <= value <= 1.5 for value in values)
)py");
  CHECK(result.output == "");
  CHECK(result.exit_code == 0);
}

TEST_CASE("what a judge cannot take is refused with the reason") {
  const auto refusal = [](const char* format, const PackageRequest& request) {
    return error_of([&] { format_named(format).write(request); });
  };
  CHECK_THAT(refusal("flashinfer-bench", shipped_package("quantise")), ContainsSubstring("uint8"));
  CHECK_THAT(refusal("kernelbench", shipped_package("quantise")), ContainsSubstring("one new tensor"));
  PackageRequest without = shipped_package("softmax");
  without.torch_reference.clear();
  for (const char* format : {"kernelbench", "robust-kbench", "flashinfer-bench"})
    CHECK_THAT(refusal(format, without), ContainsSubstring("no reference.py"));
}
