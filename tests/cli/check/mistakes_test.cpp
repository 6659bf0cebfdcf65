// Mistakes that authors of tasks make, planted one at a time in a task that is right (tests/data/mistakes). Each is
// answered with one line that names the file and the cause.
#include <sstream>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

namespace fs = std::filesystem;

const std::string kPair = "pair.json", kPairKernel = "pair.cu";
const std::string kTask = "templates/scale/task.json", kReference = "templates/scale/reference.cu";
const std::string kFamily = "templates/scale/plain/family.json", kTemplate = "templates/scale/plain/kernel.cu";

using Command = std::vector<std::string>;
const Command kCheck = {"check", "pair.json"};
const Command kTunePair = {"tune", "pair.json", "--device", "vgpu", "--evals", "2", "--seed", "1", "--quiet"};
const Command kCheckTask = {"check", "scale"};
const Command kRun = {"run", "--task", "scale", "--device", "vgpu", "--evals", "2", "--seed", "1", "--quiet"};
const Command kScaleSpace = {"space", "--task", "scale", "--device", "vgpu"};

/// The first `from` in the file becomes `to`. Without a `from` the file is removed.
struct Edit {
  std::string file;
  std::string from;
  std::string to;
};

struct Mistake {
  std::string name;
  std::vector<Edit> edits;
  Command command;
  int code = 2;
  std::vector<std::string> says;  ///< Stand in one line of what is printed.
};

void plant(const Bench& bench, const Mistake& mistake) {
  fs::copy(EVO_TEST_DATA "/mistakes", bench.folder(), fs::copy_options::recursive);
  for (const Edit& edit : mistake.edits) {
    if (edit.from.empty()) {
      fs::remove(bench / edit.file);
      continue;
    }
    std::string text = bench.read(edit.file);
    const std::size_t at = text.find(edit.from);
    REQUIRE(at != std::string::npos);
    bench.write(edit.file, text.replace(at, edit.from.size(), edit.to));
  }
}

bool line_says(const std::string& text, const std::vector<std::string>& parts) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (std::ranges::all_of(parts, [&](const std::string& part) { return line.find(part) != line.npos; })) return true;
  return false;
}

void check_mistakes(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    INFO(mistake.name);
    const Bench bench;
    plant(bench, mistake);
    const Outcome outcome = bench.evo(mistake.command);
    CHECK(outcome.code == mistake.code);
    CHECK(line_says(outcome.out + outcome.err, mistake.says));
    // What ends a command is one line, and nothing else is printed.
    if (mistake.code == 2) {
      CHECK(outcome.out.empty());
      CHECK(line_says(outcome.err, {"evo: "}));
    }
  }
}

/// A key before the shapes of the ten lines.
Edit with_key(const std::string& key) {
  return {kPair, "\"shapes\"", key + ", \"shapes\""};
}

const std::string kBarrier = "  __syncthreads();\n";

}  // namespace

TEST_CASE("the task without a mistake is fine, in ten lines and in full", "[long]") {
  check_mistakes({{"ten lines", {}, kCheck, 0, {"fine"}},
                  {"tuned", {}, kTunePair, 0, {"2 evaluated: 2 valid"}},
                  {"full", {}, kCheckTask, 0, {"fine"}},
                  {"run", {}, kRun, 0, {"2 evaluated: 2 valid"}}});
}

TEST_CASE("mistakes in the ten lines are named with file, key and cause") {
  check_mistakes({
      {"a misspelt key",
       {{kPair, "\"arguments\"", "\"arguements\""}},
       kCheck,
       2,
       {"pair.json: unknown key 'arguements'; did you mean 'arguments'?"}},
      {"a comma too many",
       {{kPair, "[\"threads\"],", "[\"threads\"],,"}},
       kCheck,
       2,
       {"pair.json: line 7, column 24: not valid JSON", "unexpected ','"}},
      {"a misspelt gene in the grid",
       {{kPair, "(N, threads)", "(N, thread)"}},
       kCheck,
       2,
       {"pair.json: grid[0]: ", "unknown name 'thread'; did you mean 'threads'?"}},
      {"a bracket or comma is missing in an expression",
       {{kPair, "ceil_div(N, threads)", "ceil_div(N threads)"}},
       kCheck,
       2,
       {"pair.json: grid[0]: ", "column 12: expected ')' before 'threads'"}},
      {"a gene that is a word of CUDA C++",
       {{kPair, "\"genes\": {", "\"genes\": {\"int\": [1, 2], "}},
       kCheck,
       2,
       {"pair.json: genes.int: ", "'int' cannot be a macro: it is a word of CUDA C++"}},
      {"a file that is not there",
       {{kPair, "pair.cu:pair\"", "pear.cu:pair\""}},
       kCheck,
       2,
       {"pair.json: kernel: pear.cu is not a file"}},
      {"a kernel that is not there",
       {{kPair, "pair.cu:pair\"", "pair.cu:paar\""}},
       kTunePair,
       2,
       {"pair.json: kernel: pair.cu has no kernel paar; did you mean 'pair'?"}},
      {"a reference that is not there",
       {{kPair, "pair_plain", "pair_naive"}},
       kCheck,
       2,
       {"pair.json: reference: pair.cu has no kernel pair_naive; there are pair, pair_plain"}},
      {"a misspelt type",
       {{kPair, "x=float[N]", "x=flaot[N]"}},
       kCheck,
       2,
       {"pair.json: arguments[1]: 'flaot' is no type; did you mean 'float'?"}},
      {"a tensor with an unknown size",
       {{kPair, "x=float[N]", "x=float[K]"}},
       kCheck,
       2,
       {"pair.json: arguments[1]", "unknown name 'K'"}},
      {"two arguments of one name",
       {{kPair, "x=float[N]", "y=float[N]"}},
       kCheck,
       2,
       {"pair.json: arguments[", "'y' is declared twice"}},
      {"no output", {{kPair, "y=out float", "y=float"}}, kCheck, 2, {"pair.json: arguments: no output: write one as"}},
      {"a misspelt draw",
       {{kPair, "x=float[N]", "x=int[N]:indcies(N)"}},
       kCheck,
       2,
       {"pair.json: arguments[1]: 'indcies(N)' is no filling: there are", "indices"}},
      {"another size in one shape",
       {{kPair, "{\"N\": 100}", "{\"M\": 100}"}},
       kCheck,
       2,
       {"pair.json: shapes[1].M: unknown shape parameter 'M'"}},
      {"no shapes",
       {{kPair, "  \"shapes\": [{\"N\": 128}, {\"N\": 100}],\n", ""}},
       kCheck,
       2,
       {"pair.json: arguments[", "'N' reads unknown name 'N'"}},
      {"no block",
       {{kPair, "  \"block\": [\"threads\"],\n", ""}},
       kCheck,
       2,
       {"pair.json: key 'block' is missing: the threads of a block"}},
      {"a gene without values",
       {{kPair, "[64, 128]", "[]"}},
       kCheck,
       2,
       {"pair.json: genes.threads: at least one value is needed"}},
      {"a gene of numbers and texts",
       {{kPair, "[64, 128]", "[64, \"128\"]"}},
       kCheck,
       2,
       {"pair.json: genes.threads.values[1]: values of one gene must be all integers"}},
      {"a misspelt gene in a constraint",
       {with_key(R"("restrict": ["treads <= 64"])")},
       kCheck,
       2,
       {"pair.json: restrict[0]: ", "unknown name 'treads'; did you mean 'threads'?"}},
      {"a constraint that divides by zero",
       {with_key(R"("restrict": ["256 % (threads - 64) == 0"])")},
       kCheck,
       2,
       {"pair.json: restrict[0]: '256 % (threads - 64) == 0': division by zero"}},
      {"a constraint that no genome meets",
       {with_key(R"("restrict": ["threads >= 64", "threads > 128"])")},
       kTunePair,
       2,
       {"pair.json: restrict[1]: no genome meets 'threads > 128'"}},
      {"blocks that no GPU takes",
       {{kPair, "[64, 128]", "[2048]"}},
       kCheck,
       2,
       {"pair.json: block: no genome meets 'threads <= threads_per_block'"}},
      {"a requirement that no shape meets",
       {with_key(R"("requires": "N % 7 == 0")")},
       kTunePair,
       2,
       {"pair.json: shapes[0]: does not meet 'N % 7 == 0'"}},
      {"a misspelt limit",
       {with_key(R"("limits": {"relative": 0.1, "cosine": 0.9})")},
       kCheck,
       2,
       {"pair.json: limits", "unknown key 'relative'"}},
      {"a limit of 0 for floats",
       {with_key(R"("limits": {"relative_l2": 0, "cosine": 0.9})")},
       kCheck,
       2,
       {"pair.json: limits.relative_l2: must be positive", "exact"}},
      {"a kernel that says no launch", {}, {"tune", "pair.cu"}, 2, {"pair.cu: nothing says how it is launched"}},
      {"a misspelt family",
       {},
       {"check", "pair.json", "--family", "tune"},
       2,
       {"unknown family 'tune' of task pair; did you mean 'tuned'?"}},
      {"a grid of no block",
       {{kPair, "ceil_div(N, threads)", "N / threads"}},
       kTunePair,
       2,
       {"pair.json: grid: 'N / threads' is 0: must be 1 to"}},
  });
}

TEST_CASE("arguments that the kernel takes otherwise are named with their place", "[long]") {
  check_mistakes({
      {"an argument too few",
       {{kPair, ", \"N\"]", "]"}},
       kTunePair,
       2,
       {"pair.json: arguments: pair takes 4 arguments, 3 are given"}},
      {"a whole number for a float",
       {{kPair, "float:0.5", "int:1"}},
       kCheck,
       1,
       {"pair.json: arguments[2]: int is given, pair takes float"}},
      {"two arguments in the wrong order",
       {{kPair, "\"float:0.5\", \"N\"", "\"N\", \"float:0.5\""}},
       kTunePair,
       2,
       {"pair.json: arguments[3]: float is given, pair takes an integer of 4 bytes"}},
      {"a tensor of halves for floats",
       {{kPair, "x=float[N]", "x=half[N]"}, {kPairKernel, "extern \"C\" ", ""}, {kPairKernel, "extern \"C\" ", ""}},
       kCheck,
       1,
       {"pair.json: arguments[1]: tensor x of f16 is given, pair takes float const*"}},
      {"a reference with other arguments",
       {{kPair, "\"reference_grid\"", R"("reference_arguments": ["y", "x", "N"], "reference_grid")"}},
       kCheck,
       1,
       {"pair.json: reference_arguments: pair_plain takes 4 arguments, 3 are given"}},
  });
}

TEST_CASE("mistakes in a kernel are named with file, line and cause", "[long]") {
  check_mistakes({
      {"a misspelt variable",
       {{kPairKernel, "y[i] = factor", "y[i] = facto"}},
       kTunePair,
       1,
       {"compile_failed: pair.cu:6: identifier \"facto\" is undefined"}},
      {"a semicolon too few",
       {{kPairKernel, "+ threadIdx.x;", "+ threadIdx.x"}},
       kCheck,
       1,
       {"pair.cu:4: error: expected a \";\""}},
      {"a header that is not there",
       {{kPairKernel, "extern", "#include \"helpers.cuh\"\nextern"}},
       kCheck,
       2,
       {"pair.json: kernel: pair.cu:1: ", "helpers.cuh is not a file"}},
      {"a missing barrier, in a search",
       {{kPairKernel, kBarrier, "\n"}},
       kTunePair,
       1,
       {"race: missing __syncthreads: pair.cu:4 writes 'tile', pair.cu:6 reads it"}},
      {"a missing barrier, in a check",
       {{kPairKernel, kBarrier, "\n"}},
       kCheck,
       1,
       {"race: missing __syncthreads: pair.cu:4 writes 'tile', pair.cu:6 reads it"}},
      {"a barrier that some lanes do not reach",
       {{kPairKernel, "__syncthreads()", "if (threadIdx.x < 16) __syncthreads()"}},
       kCheck,
       1,
       {"divergent_barrier: ", "pair.cu:5", "all must execute the same barrier"}},
      {"a write beyond the end",
       {{kPairKernel, "if (i < n) y[i]", "y[i]"}},
       kTunePair,
       1,
       {"crashed: ", "pair.cu:6", "behind the end of 'x'"}},
      {"an output that is not written",
       {{kPairKernel, "if (i < n) y[i] = ", "if (i < 0) y[i] = "}},
       kTunePair,
       1,
       {"wrong_answer: pair.cu: ", "y: 100 values are not finite, the first at 0 (never written"}},
      {"a tail that nobody computes",
       {{kPair, "ceil_div(N, threads)", "N / threads"}},
       kCheck,
       1,
       {"100: pair.cu: wrong answer: y: 36 values are not finite, the first at 64 (never written"}},
      {"threads that write each other's element",
       {{kPairKernel, "y[i] = factor", "y[i / 2] = factor"}},
       kCheck,
       1,
       {"race: several threads write 'y' in pair.cu:6: nothing orders them"}},
      {"an integer that is off by one",
       {{kPairKernel, "y[i] = factor *", "y[i] = 1 + factor *"},
        {kPairKernel, "float* y", "int* y"},
        {kPairKernel, "float* y", "int* y"},
        {kPair, "out float[N]", "out int[N]"}},
       kTunePair,
       1,
       {"wrong_answer: pair.cu: ", "elements are not equal, the first at "}},
      {"dynamic shared memory that no launch gives",
       {{kPairKernel, "__shared__ float tile[threads]", "extern __shared__ float tile[]"}},
       kCheck,
       1,
       {"pair.cu:4", "byte 0 of shared memory, which has 0 bytes"}},
      {"more dynamic shared memory than there is",
       {with_key(R"("shared": "threads * 4096")"),
        {kPairKernel, "__shared__ float tile[threads]", "extern __shared__ float tile[]"}},
       kTunePair,
       1,
       {"illegal: pair.json: ", "262144 bytes of shared memory, a block can have 232448"}},
      {"more static shared memory than there is",
       {{kPairKernel, "tile[threads]", "tile[threads * 1024]"}},
       kTunePair,
       1,
       {"compile_failed: pair.cu: kernel pair has 262144 bytes of static shared memory, 49152 are possible"}},
      {"launch bounds below the block",
       {{kPairKernel, "__global__ void pair(", "__global__ void __launch_bounds__(32) pair("}},
       kCheck,
       1,
       {"pair.json: kernel pair: block of 64 threads exceeds __launch_bounds__ 32"}},
      {"a counter that outlives a launch",
       {{kPairKernel, "extern", "__device__ int calls;\nextern"},
        {kPairKernel, kBarrier, "  __syncthreads();\n  if (i == 0) ++calls;\n"}},
       kTunePair,
       1,
       {"illegal: pair.cu: global variable calls would outlive a launch"}},
      {"a gene that nothing reads",
       {{kPair, "[64, 128]", "[64, 128], \"unroll\": [1, 2]"}},
       kCheck,
       1,
       {"unused genes: unroll (pair.cu does not read it)"}},
      {"a printf left in shows what it prints",
       {{kPairKernel, kBarrier, "  __syncthreads();\n  if (i == 3) printf(\"i %d\\n\", i);\n"}},
       kCheck,
       0,
       {"    i 3"}},
  });
}

TEST_CASE("mistakes in a reference are named with file and cause", "[long]") {
  check_mistakes({
      {"it does not compile",
       {{kPairKernel, "? x[i ^ 32] : 0)", "? x[j ^ 32] : 0)"}},
       kCheck,
       1,
       {"reference: ", "pair.cu:10: ", "identifier \"j\" is undefined"}},
      {"it divides by zero",
       {{kPairKernel, "y[i] = factor * (x[i] + (", "y[i] = factor * (0 / (x[i] - x[i]) + ("}},
       kTunePair,
       2,
       {"pair.json: reference: shape 100, ", "y has no finite value"}},
      {"it writes nothing",
       {{kPairKernel, "i = threadIdx.x; i < n;", "i = threadIdx.x; i < 0;"}},
       kCheck,
       1,
       {"reference: 128: pair/reference.cu: y[0] was never written"}},
      {"it reads beyond the end",
       {{kPairKernel, "((i ^ 32) < n ? x[i ^ 32] : 0)", "x[i ^ 32]"}},
       kCheck,
       1,
       {"reference: 100: ", "pair.cu:10", "behind the end of 'x'"}},
      {"its file is not there",
       {{kReference, "", ""}},
       kCheckTask,
       2,
       {"scale/task.json: reference: scale/reference.cu is missing"}},
      {"its kernel is not there",
       {{kTask, "scale_reference", "scale_ref"}},
       kRun,
       2,
       {"scale/reference.cu: ", "no kernel scale_ref; there are: scale_reference"}},
  });
}

TEST_CASE("mistakes in task.json are named with file, key and cause") {
  check_mistakes({
      {"a misspelt key",
       {{kTask, "\"shape_parameters\"", "\"shape_paramters\""}},
       kScaleSpace,
       2,
       {"scale/task.json: unknown key 'shape_paramters'; did you mean 'shape_parameters'?"}},
      {"a key twice",
       {{kTask, "\"seeds\": 1,", "\"seeds\": 1, \"seeds\": 2,"}},
       kScaleSpace,
       2,
       {"scale/task.json: key 'seeds' is given twice"}},
      {"a remark",
       {{kTask, "  \"seeds\"", "  // once\n  \"seeds\""}},
       kScaleSpace,
       2,
       {"scale/task.json: line 13, column 3: not valid JSON"}},
      {"an unknown dtype",
       {{kTask, "\"x\", \"dtype\": \"f32\"", "\"x\", \"dtype\": \"float31\""}},
       kScaleSpace,
       2,
       {"scale/task.json: inputs[0].dtype: ", "float31"}},
      {"scales of dims that do not divide",
       {{kTask, "\"x\", \"dtype\": \"f32\", \"dims\": [\"N\", \"M\"]",
         "\"x\", \"dtype\": \"e4m3\", \"dims\": [\"N\", \"M\"], \"scale\": \"a\""},
        {kTask, "\"dims\": [\"N\"]", "\"dims\": [\"7\"]"}},
       kScaleSpace,
       2,
       {"scale/task.json: inputs[0].scale: the dims of 'a' must divide those of 'x'"}},
      {"a regime of an unknown tensor",
       {{kTask, "\"tensors\": [\"x\"]", "\"tensors\": [\"z\"]"}},
       kScaleSpace,
       2,
       {"scale/task.json: regimes.hard.tensors[0]: unknown input 'z'"}},
      {"an unknown distribution",
       {{kTask, "\"distribution\": \"normal\"", "\"distribution\": \"gauss\""}},
       kScaleSpace,
       2,
       {"scale/task.json: regimes.normal.distribution: unknown distribution 'gauss'"}},
      {"an unknown shape in a set",
       {{kTask, "\"timed\": [\"large\"]", "\"timed\": [\"huge\"]"}},
       kScaleSpace,
       2,
       {"scale/task.json: sets.vgpu.timed[0]: unknown shape 'huge'"}},
      {"an unknown specialised size",
       {{kTask, "\"specialised\": [\"M\"]", "\"specialised\": [\"K\"]"}},
       kScaleSpace,
       2,
       {"scale/task.json: specialised[0]: unknown shape parameter 'K'"}},
      {"a size of zero",
       {{kTask, "\"N\": 3", "\"N\": 0"}},
       kScaleSpace,
       2,
       {"scale/task.json: shapes.small.N: must be positive"}},
      {"an unknown name in the floor",
       {{kTask, "\"N * M\"", "\"N * K\""}},
       kScaleSpace,
       2,
       {"scale/task.json: floor.flops: ", "unknown name 'K'"}},
      {"an unknown argument of the reference",
       {{kTask, "[\"x\", \"a\", \"y\"]", "[\"x\", \"b\", \"y\"]"}},
       kScaleSpace,
       2,
       {"scale/task.json: reference.arguments[1]: ", "unknown name 'b'"}},
      {"a misspelt task", {}, {"check", "scal"}, 2, {"unknown task 'scal'; did you mean 'scale'?"}},
      {"an unknown value of an option",
       {},
       {"check", "scale", "--option", "out=bf16"},
       2,
       {"unknown value 'bf16' of option out"}},
  });
}

TEST_CASE("mistakes in a family are named with file, key or line, and cause") {
  check_mistakes({
      {"no family",
       {{kFamily, "", ""}},
       kCheckTask,
       2,
       {"scale: the task has no family: there is no scale/FAMILY/family.json"}},
      {"a misspelt gene",
       {{kFamily, "\"threads * vector\"", "\"thread * vector\""}},
       kScaleSpace,
       2,
       {"scale/plain/family.json: derived[0].value: ", "unknown name 'thread'; did you mean 'threads'?"}},
      {"a misspelt value in a constraint",
       {{kFamily, "M % columns", "M % colums"}},
       kScaleSpace,
       2,
       {"scale/plain/family.json: constraints[0].that: ", "unknown name 'colums'; did you mean 'columns'?"}},
      {"a division by zero",
       {{kFamily, "\"threads * vector\"", "\"threads / (vector - 1)\""}},
       kRun,
       2,
       {"scale/plain/family.json: 'M % columns == 0' cannot be evaluated for threads=32 vector=1: division by zero"}},
      {"a constraint that no genome keeps",
       {{kFamily, "M % columns == 0", "M % columns == 1"}},
       kRun,
       2,
       {"scale/plain/family.json: no genome of plain keeps all constraints: 'M % columns == 1' excludes every one"}},
      {"a device that is not there",
       {{kFamily, "sm >= 80", "sm >= 100"}},
       kRun,
       2,
       {"scale/plain/family.json: requires: shape large does not meet 'sm >= 100'"}},
      {"a condition on a later gene",
       {{kFamily, "\"values\": [32, 64]", "\"values\": [32, 64], \"when\": \"vector == 1\""}},
       kScaleSpace,
       2,
       {"scale/plain/family.json: genes[0].when: ", "unknown name 'vector'"}},
      {"values that do not ascend",
       {{kFamily, "[32, 64]", "[64, 32]"}},
       kScaleSpace,
       2,
       {"scale/plain/family.json: genes[0].values: numbers must ascend"}},
      {"a slot without files",
       {{kFamily, "{\"name\": \"threads\"", "{\"name\": \"store\", \"slot\": true}, {\"name\": \"threads\""}},
       kScaleSpace,
       2,
       {"scale/plain/family.json: genes[0]: slot 'store' has no file scale/plain/store/*.cu"}},
      {"an unknown argument",
       {{kFamily, "[\"x\", \"a\", \"y\"]", "[\"x\", \"b\", \"y\"]"}},
       kScaleSpace,
       2,
       {"scale/plain/family.json: launches[0].arguments[1]: ", "unknown name 'b'"}},
      {"a block of four sizes",
       {{kFamily, "\"block\": [\"threads\", \"1\"", "\"block\": [\"threads\", \"1\", \"1\""}},
       kScaleSpace,
       2,
       {"scale/plain/family.json: launches[0].block: three dimensions are needed"}},
      {"a kernel that is not there",
       {{kFamily, "\"kernel\": \"scale\"", "\"kernel\": \"scales\""}},
       kRun,
       1,
       {"compile_failed: scale/plain/kernel.cu: the program has no kernel scales; there are: scale"}},
      {"a grid below one",
       {{kFamily, "\"M / columns\"", "\"M / columns - 2\""}},
       kRun,
       2,
       {"scale/plain/family.json: launch scale: grid 'M / columns - 2' is "}},
      {"a block beyond the device's",
       {{kFamily, "\"block\": [\"threads\"", "\"block\": [\"threads * 64\""}},
       kRun,
       1,
       {"illegal: scale/plain/family.json: ", "a block of 4096 threads in x: 1 to 1024 are possible"}},
  });
}

TEST_CASE("mistakes in a template are named with its file and line") {
  check_mistakes({
      {"an unknown name",
       {{kTemplate, "${i * threads}", "${i * thread}"}},
       kRun,
       2,
       {"scale/plain/kernel.cu:3: 'i * thread': unknown name 'thread'"}},
      {"a loop without its end",
       {{kTemplate, "//% end\n", ""}},
       kRun,
       2,
       {"scale/plain/kernel.cu:2: 'for' without 'end'"}},
      {"an unknown directive",
       {{kTemplate, "//% for", "//% fro"}},
       kCheckTask,
       1,
       {"scale/plain/kernel.cu:2: unknown directive 'fro'"}},
      {"a file that is not there",
       {{kTemplate, "extern", "//% include \"types.cuh\"\nextern"}},
       kCheckTask,
       1,
       {"scale/plain/kernel.cu:1: no file \"types.cuh\""}},
      {"a misspelt variable",
       {{kTemplate, "= blockIdx.y *", "= blockIdx.y + colums *"}},
       kRun,
       1,
       {"compile_failed: scale/plain/kernel.cu:3: identifier \"colums\" is undefined"}},
      {"the wrong row",
       {{kTemplate, "* a[blockIdx.x]", "* a[0]"}},
       kRun,
       1,
       {"wrong_answer: scale/plain/kernel.cu: ", "y: relative L2 error "}},
  });
}

TEST_CASE("a loop without an end is given up", "[long]") {
  check_mistakes(
      {{"an endless loop",
        {{kPairKernel, "  __syncthreads();", "  while (n > 0) __syncthreads();"}, {kPair, ", {\"N\": 100}", ""}},
        kCheck,
        1,
        {"128: ", "has not ended after ", "; it runs in pair.cu:"}}});
}
