// Records on a GPU what the virtual GPU has to compute: PTX instruction forms on edge values, products of a warp and of
// a warpgroup, copies of tensors, and what threads do together. The driver compiles the PTX of the cases in tests/vgpu.
//
//   g++ -O2 -std=c++20 -DFMT_HEADER_ONLY -DEVO_TEST_DATA='"."' -I. -I/usr/local/cuda/include -o record_conformance
//     tests/gpu/record_conformance.cpp
//     tests/vgpu/conformance/{instruction,listed,ptx}_forms.cpp tests/vgpu/conformance/operand_values.cpp
//     tests/vgpu/conformance/{matrix,warp,tensor,wgmma}_cases.cpp
//     -lcuda
//   ./record_conformance OUTDIR [FILE ...]       (tests/data/ptx_forms.txt is read; a copy has to lie next to
//   the program)
//
// Files forms.bin, listed.bin, matrices.bin, warps.bin, tensors.bin, products.bin, layouts.bin, or those that are
// named; little-endian; for each case
//   uint16 length of the name, the name; uint16 bits of an output (16, 32 or 64); uint32 outputs; the outputs, packed.
// Cases that the driver refuses or that fault are left out and named.
#include <cuda.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <utility>

#include "tests/vgpu/conformance/instruction_forms.h"
#include "tests/vgpu/conformance/listed_forms.h"
#include "tests/vgpu/conformance/matrix_cases.h"
#include "tests/vgpu/conformance/tensor_cases.h"
#include "tests/vgpu/conformance/warp_cases.h"
#include "tests/vgpu/conformance/wgmma_cases.h"

namespace {

using namespace evo::conformance;

std::string text_of(CUresult result) {
  const char* text = nullptr;
  return cuGetErrorString(result, &text) == CUDA_SUCCESS ? text : "unknown error";
}

void require(CUresult result, const std::string& what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", what.c_str(), text_of(result).c_str());
  std::exit(1);
}

struct Recorded {
  Case test;
  int bits = 32;                     ///< Of a result; 0: outputs as they are, in words.
  std::optional<TensorSpec> tensor;  ///< What the kernel's third parameter is a map of.
  bool tensor_is_written = false;    ///< It begins where the outputs do.
};

CUtensorMapDataType element_of(const std::string& name) {
  const std::pair<const char*, CUtensorMapDataType> kTypes[] = {{"u8", CU_TENSOR_MAP_DATA_TYPE_UINT8},
                                                                {"u16", CU_TENSOR_MAP_DATA_TYPE_UINT16},
                                                                {"u32", CU_TENSOR_MAP_DATA_TYPE_UINT32},
                                                                {"s32", CU_TENSOR_MAP_DATA_TYPE_INT32},
                                                                {"u64", CU_TENSOR_MAP_DATA_TYPE_UINT64},
                                                                {"s64", CU_TENSOR_MAP_DATA_TYPE_INT64},
                                                                {"f16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
                                                                {"f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
                                                                {"f32_ftz", CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ},
                                                                {"f64", CU_TENSOR_MAP_DATA_TYPE_FLOAT64},
                                                                {"bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
                                                                {"tf32", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32},
                                                                {"tf32_ftz", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ}};
  for (const auto& [known, type] : kTypes)
    if (name == known) return type;
  std::fprintf(stderr, "no tensor element %s\n", name.c_str());
  std::exit(1);
}

CUresult encode(CUtensorMap& map, const TensorSpec& tensor, CUdeviceptr at) {
  const CUtensorMapSwizzle swizzle = tensor.swizzle_bytes == 32    ? CU_TENSOR_MAP_SWIZZLE_32B
                                     : tensor.swizzle_bytes == 64  ? CU_TENSOR_MAP_SWIZZLE_64B
                                     : tensor.swizzle_bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B
                                                                   : CU_TENSOR_MAP_SWIZZLE_NONE;
  const std::vector<cuuint64_t> extents(tensor.extents.begin(), tensor.extents.end());
  std::vector<cuuint64_t> strides(tensor.strides_bytes.begin(), tensor.strides_bytes.end());
  strides.push_back(0);  // One dimension has no strides, but a null pointer is refused.
  return cuTensorMapEncodeTiled(
      &map, element_of(tensor.element), static_cast<cuuint32_t>(extents.size()), reinterpret_cast<void*>(at),
      extents.data(), strides.data(), tensor.box.data(), tensor.element_strides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
      swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      tensor.fills_with_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

bool refused(CUresult result, const std::string& name) {
  if (result != CUDA_SUCCESS) std::fprintf(stderr, "refused: %s: %s\n", name.c_str(), text_of(result).c_str());
  return result != CUDA_SUCCESS;
}

/// The outputs of a case; empty when its PTX or its tensor map is refused. A fault ends the process: the context is
/// lost.
std::vector<std::uint32_t> run(const Recorded& recorded) {
  const Case& test = recorded.test;
  CUmodule module = nullptr;
  if (refused(cuModuleLoadData(&module, test.ptx.c_str()), test.name)) return {};
  CUfunction function = nullptr;
  CUdeviceptr in = 0, out = 0;
  std::vector<std::uint32_t> result(test.out_words);
  require(cuModuleGetFunction(&function, module, "k"), test.name);
  require(cuMemAlloc(&in, test.in.size() * 4), test.name);
  require(cuMemAlloc(&out, result.size() * 4), test.name);
  require(cuMemcpyHtoD(in, test.in.data(), test.in.size() * 4), test.name);
  CUtensorMap map{};
  if (recorded.tensor && refused(encode(map, *recorded.tensor, recorded.tensor_is_written ? out : in), test.name))
    return {};
  void* arguments[] = {&in, &out, &map};
  require(cuLaunchKernel(function, test.blocks, 1, 1, test.threads, 1, 1, 0, nullptr, arguments, nullptr), test.name);
  require(cuCtxSynchronize(), test.name);
  require(cuMemcpyDtoH(result.data(), out, result.size() * 4), test.name);
  require(cuMemFree(in), test.name);
  require(cuMemFree(out), test.name);
  require(cuModuleUnload(module), test.name);
  return result;
}

class RecordFile {
 public:
  explicit RecordFile(const std::string& path) : file_(std::fopen(path.c_str(), "ab")) {
    if (file_ == nullptr) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      std::exit(1);
    }
  }
  ~RecordFile() { std::fclose(file_); }
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  void write(const std::string& name, int bits, const std::vector<std::uint32_t>& words) {
    const auto length = static_cast<std::uint16_t>(name.size()), width = static_cast<std::uint16_t>(bits);
    const auto outputs = static_cast<std::uint32_t>(words.size() * 32 / static_cast<std::size_t>(bits));
    put(&length, 2);
    put(name.data(), name.size());
    put(&width, 2);
    put(&outputs, 4);
    put(words.data(), words.size() * 4);
    if (std::fflush(file_) != 0) std::exit(1);
  }

 private:
  void put(const void* data, std::size_t bytes) {
    if (std::fwrite(data, 1, bytes, file_) != bytes) std::exit(1);
  }
  std::FILE* file_;
};

/// Of each 64-bit result the low `bits`, packed into words.
std::vector<std::uint32_t> pack(const std::vector<std::uint32_t>& words, int bits) {
  if (bits == 64) return words;
  std::vector<std::uint32_t> packed;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (bits == 32 || i % 4 == 0)
      packed.push_back(words[i]);
    else
      packed.back() |= words[i] << 16;
  }
  return packed;
}

constexpr unsigned kSecondsOfCase = 10;  ///< A kernel that waits for ever ends its process like one that faults.
constexpr int kMostFaults = 40;

/// Records from *next on, in a process of its own; *next says which case is under way.
[[noreturn]] void record_from(const std::string& path, const std::vector<Recorded>& cases, std::size_t* next) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  require(cuInit(0), "cuInit");
  require(cuDeviceGet(&device, 0), "cuDeviceGet");
  require(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  require(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  {
    RecordFile file(path);
    for (; *next < cases.size(); ++*next) {
      const Recorded& recorded = cases[*next];
      alarm(kSecondsOfCase);
      auto out = run(recorded);
      if (recorded.bits != 0) out = pack(out, recorded.bits);
      if (!out.empty()) file.write(recorded.test.name, recorded.bits != 0 ? recorded.bits : 32, out);
    }
  }
  std::exit(0);
}

/// A case that faults takes its process with it; the next process goes on behind it. Returns how many did.
int record_to(const std::string& path, const std::vector<Recorded>& cases) {
  std::remove(path.c_str());
  void* shared = mmap(nullptr, sizeof(std::size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::exit(1);
  auto* next = static_cast<std::size_t*>(shared);
  int faults = 0;
  for (*next = 0; *next < cases.size() && faults < kMostFaults;) {
    const pid_t child = fork();
    if (child == 0) record_from(path, cases, next);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) std::exit(1);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    std::printf("faulted: %s\n", cases[*next].test.name.c_str());
    ++faults;
    ++*next;
  }
  return faults;
}

/// Most of the time goes into compiling, so that several processes each take a part of the cases.
void record(const std::string& folder, const char* name, const std::vector<Recorded>& cases) {
  constexpr std::size_t kParts = 4;
  const std::string path = folder + "/" + name;
  std::array<pid_t, kParts> workers{};
  for (std::size_t part = 0; part < kParts; ++part) {
    workers[part] = fork();
    if (workers[part] < 0) std::exit(1);
    if (workers[part] != 0) continue;
    const auto at = [&](std::size_t p) {
      return cases.begin() + static_cast<std::ptrdiff_t>(p * cases.size() / kParts);
    };
    std::exit(record_to(path + "." + std::to_string(part), {at(part), at(part + 1)}));
  }
  std::ofstream whole(path, std::ios::binary | std::ios::trunc);
  int faults = 0;
  for (std::size_t part = 0; part < kParts; ++part) {
    int status = 0;
    if (waitpid(workers[part], &status, 0) != workers[part] || !WIFEXITED(status)) std::exit(1);
    faults += WEXITSTATUS(status);
    const std::string of_part = path + "." + std::to_string(part);
    std::ifstream recorded(of_part, std::ios::binary);
    if (recorded && recorded.peek() != std::ifstream::traits_type::eof()) whole << recorded.rdbuf();
    std::remove(of_part.c_str());
  }
  std::printf("%s: %zu cases, %d faulted\n", name, cases.size(), faults);
  if (!whole.flush()) std::exit(1);
}

std::vector<Recorded> as_words(std::vector<Case> cases) {
  std::vector<Recorded> recorded;
  for (Case& test : cases) recorded.push_back({.test = std::move(test), .bits = 0, .tensor = {}});
  return recorded;
}

std::vector<Recorded> as_results(const std::vector<InstructionForm>& forms) {
  std::vector<Recorded> recorded;
  for (const InstructionForm& form : forms)
    recorded.push_back({.test = case_of(form), .bits = form.result_bits, .tensor = {}});
  return recorded;
}

std::vector<Recorded> of_tensors() {
  std::vector<Recorded> recorded;
  for (TensorCase& each : tensor_cases())
    recorded.push_back(
        {.test = std::move(each.test), .bits = 0, .tensor = each.tensor, .tensor_is_written = each.written});
  return recorded;
}

struct File {
  const char* name;
  std::function<std::vector<Recorded>()> cases;
};
const File kFiles[] = {
    {"products.bin", [] { return as_words(numerics_cases()); }},
    {"forms.bin", [] { return as_results(instruction_forms()); }},
    {"layouts.bin", [] { return as_words(layout_cases()); }},
    {"listed.bin", [] { return as_results(listed_forms()); }},
    {"matrices.bin", [] { return as_words(matrix_cases()); }},
    {"warps.bin", [] { return as_words(warp_cases()); }},
    {"tensors.bin", of_tensors},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: record_conformance OUTDIR [FILE ...]\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string folder = std::filesystem::absolute(argv[1]).string();
  std::filesystem::current_path(std::filesystem::read_symlink("/proc/self/exe").parent_path());
  const std::vector<std::string> wanted(argv + 2, argv + argc);
  for (const File& file : kFiles)
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), file.name) != wanted.end())
      record(folder, file.name, file.cases());
  return 0;
}
