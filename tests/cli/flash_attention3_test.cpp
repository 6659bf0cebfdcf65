// The rival FlashAttention-3 as far as a machine without a GPU, torch and its source can go: stand-ins for torch, the
// package, a checkout and nvcc say what they are asked for.
#include <sys/wait.h>

#include <cstdlib>

#include "bench.h"

using namespace evo::testing;

namespace {

constexpr const char* kFlash = "python3 '" EVO_SOURCE_DIR "/rivals/flash_attention3.py'";

/// Runs a command of the shell in the bench's folder, where no variable names FlashAttention-3. Its output is in the
/// files `out` and `err`.
int run_flash(const Bench& bench, const std::string& command) {
  const std::string line = "cd '" + bench.folder().string() +
                           "' && unset FLASH_ATTENTION FLASH_ATTENTION_LIBRARY && export PYTHONDONTWRITEBYTECODE=1 "
                           "PYTHONPATH=modules CUDA_HOME=toolkit && { " +
                           command + "; } > out 2> err";
  const int status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Checks that it has printed nothing but one line on standard error.
void check_one_line(const Bench& bench, const std::string& line) {
  CHECK(bench.read("out").empty());
  CHECK(bench.read("err") == "flash_attention3: " + line + "\n");
}

/// A torch that has a GPU and no tensors.
void write_torch(const Bench& bench) {
  std::filesystem::create_directories(bench / "modules/torch/nn/attention");
  bench.write("modules/torch/__init__.py",
              "float16, bfloat16 = 'torch.float16', 'torch.bfloat16'\nclass cuda:\n    is_available = lambda: True\n");
  for (const char* module : {"nn/__init__", "nn/functional", "nn/attention/__init__"})
    bench.write("modules/torch/" + std::string(module) + ".py", "");
  bench.write("modules/torch/nn/attention/bias.py", "causal_lower_right = None\n");
}

/// Its answer to a task of evo.
nlohmann::json offered(const Bench& bench, const std::string& task, const nlohmann::json& options,
                       const std::string& variables = "", const std::string& device = "cuda") {
  const nlohmann::json message = {{"type", "task"},
                                  {"task", task},
                                  {"options", options},
                                  {"shapes", {{"one", {{"B", 1}, {"H", 8}, {"S", 512}, {"D", 64}}}}},
                                  {"device", {{"kind", device}, {"id", device + ":h200"}, {"uuid", "GPU-1"}}}};
  bench.write("task", message.dump() + "\n");
  const int code = run_flash(bench, variables + " " + kFlash + " < task");
  INFO(bench.read("err"));
  REQUIRE(code == 0);
  return nlohmann::json::parse(bench.read("out"));
}

const nlohmann::json kCoded = {{"out", "f16"}, {"mask", "none"}, {"v_layout", "row_major"}, {"scales", "head"}};
const nlohmann::json kWide = {{"dtype", "f16"}, {"mask", "causal"}, {"softmax_scale", 0.0}};

/// A checkout of flash-attention and an nvcc that writes down what it is called with.
void write_checkout(const Bench& bench) {
  for (const char* folder : {"flash/hopper", "flash/csrc/cutlass/include/cutlass", "toolkit/bin"})
    std::filesystem::create_directories(bench / folder);
  bench.write("flash/hopper/__init__.py", "__version__ = \"3.1.4\"\n");
  bench.write("flash/hopper/setup.py",
              "import torch\nif True:\n    nvcc_flags = [\n        \"-O3\",  # Fast.\n        # \"--keep\",\n"
              "        \"-lineinfo\",\n        \"-DTHEIRS=1\",\n    ]\n    nvcc_flags.extend([])\n");
  bench.write("flash/csrc/cutlass/include/cutlass/cutlass.h", "");
  bench.write("toolkit/bin/nvcc",
              "#!/bin/sh\necho \"$*\" >> called\n"
              "[ \"$1\" = --version ] && echo 'Cuda compilation tools, release 13.7, V13.7.88'\n"
              "[ \"$BROKEN\" ] && [ \"$1\" != --version ] && echo 'flash.h(7): error: no such thing' >&2 && exit 2\n"
              "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && echo code > \"$2\"; shift; done\ntrue\n");
  std::filesystem::permissions(bench / "toolkit/bin/nvcc", std::filesystem::perms::owner_all);
}

}  // namespace

TEST_CASE("FlashAttention-3 says in one line what it lacks: its package, libraries or source, or a GPU") {
  const Bench bench;
  write_torch(bench);
  const auto why = [&](const std::string& variables) {
    const nlohmann::json answer = offered(bench, "fp8_sdpa", kCoded, variables);
    CHECK(answer["rivals"].empty());
    return answer["why"].get<std::string>();
  };
  CHECK(
      why("") ==
      "no module flash_attn_interface, no libraries in FLASH_ATTENTION_LIBRARY, and no checkout of flash-attention in "
      "FLASH_ATTENTION");
  CHECK(why("FLASH_ATTENTION_LIBRARY=none") == "FLASH_ATTENTION_LIBRARY: 'none' is no folder");
  CHECK(why("FLASH_ATTENTION=modules") ==
        "FLASH_ATTENTION: modules has no hopper/setup.py: is it a checkout of flash-attention?");
  CHECK(offered(bench, "fp8_sdpa", kCoded, "", "vgpu")["why"] == "it needs a GPU, not vgpu:h200");
  CHECK(offered(bench, "softmax", kCoded) == nlohmann::json{{"rivals", nlohmann::json::array()}});
}

TEST_CASE("FlashAttention-3 is offered for codes and for wide elements, with what it does otherwise") {
  const Bench bench;
  write_torch(bench);
  bench.write("modules/flash_attn_interface.py", "");
  const auto named = [](const nlohmann::json& answer) {
    std::vector<std::string> names;
    for (const auto& rival : answer["rivals"])
      names.push_back(rival["name"].get<std::string>() + ": " + rival["note"].get<std::string>());
    return names;
  };
  using Names = std::vector<std::string>;
  const std::string codes = "FlashAttention-3 e4m3", wide = "FlashAttention-3", split = ", keys split";
  CHECK(named(offered(bench, "fp8_sdpa", kCoded)) == Names{codes + ": bf16 out; num_splits=1",
                                                           codes + split + ": bf16 out; num_splits=0",
                                                           wide + ": f16 of the decoded codes; num_splits=1",
                                                           wide + split + ": f16 of the decoded codes; num_splits=0"});
  auto options = kCoded;
  options["out"] = "bf16";
  CHECK(named(offered(bench, "fp8_sdpa", options)).front() == codes + ": num_splits=1");
  // It takes codes of values row by row only.
  options["v_layout"] = "transposed";
  CHECK(named(offered(bench, "fp8_sdpa", options)) ==
        Names{wide + ": bf16 of the decoded codes; num_splits=1",
              wide + split + ": bf16 of the decoded codes; num_splits=0"});
  CHECK(named(offered(bench, "f16_sdpa", kWide)) == Names{wide + ": num_splits=1", wide + split + ": num_splits=0"});
}

TEST_CASE("FlashAttention-3 of a library splits keys only where its heuristic does, and names its version") {
  if (std::system("command -v cc > /dev/null") != 0) SKIP("no cc");
  const Bench bench;
  write_torch(bench);
  bench.write("library.c",
              "const char* flash_attention3_version(void) { return \"3.1.4\"; }\n"
              "void make_attention(void) {}\n"
              "int splits_of(int batch, int heads, int length, int causal) {\n"
              "  return batch == 1 && heads == 8 && length == 512 ? causal ? 1 : 5 : -1;\n}\n");
  REQUIRE(run_flash(bench, "mkdir made && cc -shared -fPIC library.c -o made/flash_attention3_f16_64.so") == 0);
  const auto names = [&](bool causal) {
    auto options = kWide;
    options["mask"] = causal ? "causal" : "none";
    const nlohmann::json answer = offered(bench, "f16_sdpa", options, "FLASH_ATTENTION_LIBRARY=made");
    std::vector<std::string> found;
    for (const auto& rival : answer["rivals"]) {
      CHECK(rival["version"] == "FlashAttention 3.1.4");
      found.push_back(rival["name"]);
    }
    return found;
  };
  CHECK(names(true) == std::vector<std::string>{"FlashAttention-3"});
  CHECK(names(false) == std::vector<std::string>{"FlashAttention-3", "FlashAttention-3, keys split"});
}

TEST_CASE("FlashAttention-3's kernels are built of its own instantiations with its own flags, apart from any GPU") {
  const Bench bench;
  write_checkout(bench);
  const int code = run_flash(bench, std::string("FLASH_ATTENTION=flash ") + kFlash + " --build made e4m3_64 f16_128");
  INFO(bench.read("err"));
  REQUIRE(code == 0);
  CHECK(bench.read("made/flash_attention3_e4m3_64.so") == "code\n");
  CHECK(std::filesystem::exists(bench / "made/flash_attention3_f16_128.so"));
  CHECK(holds(bench.read("out"), "made/flash_attention3_e4m3_64.so: 0.0 MiB\n"));
  std::ifstream called(bench / "called");
  std::vector<std::string> lines;
  for (std::string line; std::getline(called, line);)
    if (line != "--version") lines.push_back(line);
  REQUIRE(lines.size() == 8);  // Three sources and a library for each.
  for (const std::size_t i : {0, 1, 2, 4, 5, 6}) {
    INFO(lines[i]);
    CHECK(holds(lines[i], "-O3 -DTHEIRS=1 "));
    CHECK(holds(lines[i], " -gencode arch=compute_90a,code=sm_90a "));
    CHECK(holds(lines[i], " -DFLASHATTENTION_DISABLE_VARLEN "));
    CHECK_FALSE(holds(lines[i], "lineinfo"));
    CHECK_FALSE(holds(lines[i], "--keep"));
  }
  CHECK(holds(lines[0], "/flash/hopper/instantiations/flash_fwd_hdim64_e4m3_sm90.cu -o "));
  CHECK(holds(lines[1], "/flash/hopper/instantiations/flash_fwd_hdim64_e4m3_split_sm90.cu -o "));
  CHECK(holds(lines[2], " -DELEMENT=cutlass::float_e4m3_t -DWIDTH=64 -DVERSION=\"3.1.4, nvcc 13.7\" -c "));
  CHECK(holds(lines[2], "/rivals/flash_attention3.cu -o "));
  CHECK(holds(lines[4], "/flash/hopper/instantiations/flash_fwd_hdim128_fp16_sm90.cu -o "));
  CHECK(holds(lines[6], " -DELEMENT=cutlass::half_t -DWIDTH=128 "));
}

TEST_CASE("FlashAttention-3 is not built of what is no checkout, nor left half built, and one line says why") {
  const Bench bench;
  write_checkout(bench);
  const auto refused = [&](const std::string& variables, const std::string& arguments, const std::string& line) {
    CHECK(run_flash(bench, variables + " " + kFlash + " " + arguments) == 2);
    check_one_line(bench, line);
    CHECK_FALSE(std::filesystem::exists(bench / "made/flash_attention3_e4m3_64.so"));
  };
  refused("", "--build made", "FLASH_ATTENTION names no checkout of flash-attention");
  refused("FLASH_ATTENTION=none", "--build made",
          "FLASH_ATTENTION: none has no hopper/setup.py: is it a checkout of flash-attention?");
  refused("FLASH_ATTENTION=flash", "--build made e5m2_64",
          "no kernel e5m2_64: there are e4m3_64, f16_64, bf16_64, e4m3_128, f16_128, bf16_128, e4m3_256, f16_256, "
          "bf16_256");
  refused("BROKEN=1 FLASH_ATTENTION=flash", "--build made e4m3_64",
          "flash_fwd_hdim64_e4m3_sm90.cu does not compile: flash.h(7): error: no such thing");
  std::filesystem::remove(bench / "flash/csrc/cutlass/include/cutlass/cutlass.h");
  refused("FLASH_ATTENTION=flash", "--build made e4m3_64",
          "FLASH_ATTENTION: flash has no csrc/cutlass/include/cutlass/cutlass.h: git submodule update --init "
          "csrc/cutlass");
  write_torch(bench);
  bench.write("modules/torch/__init__.py", "class cuda:\n    is_available = lambda: False\n");
  refused("FLASH_ATTENTION=flash", "--check", "torch finds no GPU");
}
