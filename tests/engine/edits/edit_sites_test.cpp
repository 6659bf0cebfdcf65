#include "engine/edits/edit_sites.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "engine/base/text.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

const std::string kSums =
    "__global__ void sums(float* out, const float* x, int n) {\n"
    "  __shared__ float part[64];\n"
    "  float a = x[threadIdx.x], b = 0;\n"
    "  float c = x[threadIdx.x];\n"
    "  for (int i = 0; i < n; ++i) a += x[i];\n"
    "  for (int i = 0; i < n; ++i) { b += x[i]; c += 2 * b; }\n"
    "  part[threadIdx.x] = a;\n"
    "  __syncthreads();\n"
    "  if (threadIdx.x < 32 && n > 1) out[0] = part[n] + c;\n"
    "}\n";

const std::vector<SourceEdit>& edits_by(const EditSites& sites, EditOperator op) {
  return sites[static_cast<std::size_t>(op)];
}

/// The text after the edit that says so; empty: there is none.
std::string after(const std::string& source, EditOperator op, const std::string& what) {
  const EditSites sites = edit_sites("k.cu", source);
  for (const SourceEdit& edit : edits_by(sites, op))
    if (edit.what.find(what) != std::string::npos) return edited_text(source, "k.cu", {edit});
  return "";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every operator finds its places in a kernel") {
  CHECK(holds(after(kSums, EditOperator::remove, "part[threadIdx.x] = a;"), "  ;\n  __syncthreads();"));
  CHECK(holds(after(kSums, EditOperator::duplicate, "part[threadIdx.x] = a;"),
              "part[threadIdx.x] = a; part[threadIdx.x] = a;"));
  CHECK(
      holds(after(kSums, EditOperator::move, "moved behind line 8: part"), "__syncthreads(); part[threadIdx.x] = a;"));
  CHECK(holds(after(kSums, EditOperator::swap, "that of line 5: float a"), "  ;") == false);
  CHECK(holds(after(kSums, EditOperator::condition, "becomes threadIdx.x < 32"), "if (threadIdx.x < 32) out"));
  CHECK(holds(after(kSums, EditOperator::condition, "becomes true"), "if (true) out"));
  CHECK(holds(after(kSums, EditOperator::operand, "c becomes a copy of a"), "float c = a;"));
  CHECK(holds(after(kSums, EditOperator::operand, "a becomes c in part"), "part[threadIdx.x] = c;"));
  CHECK(holds(after(kSums, EditOperator::constant, "2 becomes 1"), "c += 1 * b"));
  CHECK(holds(after(kSums, EditOperator::remove_barrier, "a barrier is dropped"), "= a;\n  ;\n"));
  CHECK(holds(after(kSums, EditOperator::move_barrier, "moved ahead of line 7"), "__syncthreads(); part"));
  CHECK(holds(after(kSums, EditOperator::unroll, "unrolled by 4"), "_Pragma(\"unroll 4\") for"));
  CHECK(holds(after(kSums, EditOperator::fuse, "fused with that of line 6"),
              "for (int i = 0; i < n; ++i) { a += x[i];\n   { b += x[i]; c += 2 * b; } }"));
  CHECK(holds(after(kSums, EditOperator::split, "split ahead of line 6"),
              "{ b += x[i]; } for (int i = 0; i < n; ++i) { c += 2 * b; }"));
}

TEST_CASE("a variable becomes another one only where that has its type and is there") {
  const EditSites sites = edit_sites("k.cu", kSums);
  for (const SourceEdit& edit : edits_by(sites, EditOperator::operand)) {
    INFO(edit.what);
    const std::string text = edited_text(kSums, "k.cu", {edit});
    CHECK(!holds(text, "= out;"));
    CHECK(!holds(text, "part[i]"));  // i is not there behind its loop.
    CHECK(!holds(text, "float a = c"));
  }
}

TEST_CASE("edits leave template holes and directives whole") {
  const std::string source =
      "__global__ void k(float* y, int n) {\n"
      "  int a = ${tile} + 3, b = 2;\n"
      "  if (a < ${limit}) y[a] = part_${n};\n"
      "  y[b] = 1.5f;\n"
      "  //% if vector == 1\n"
      "  y[1] = 4;\n"
      "  //% else\n"
      "  y[2] = @scale@;\n"
      "  //% end\n"
      "  __syncthreads();\n"
      "}\n";
  std::size_t seen = 0;
  for (const auto& edits : edit_sites("k.cu", source)) {
    for (const SourceEdit& edit : edits) {
      INFO(edit.what);
      ++seen;
      const std::string text = edited_text(source, "k.cu", {edit});
      std::vector<std::string> directives;
      for (const std::string& line : split(text, '\n'))
        if (trim(line).starts_with("//%")) directives.emplace_back(trim(line));
      CHECK(directives == std::vector<std::string>{"//% if vector == 1", "//% else", "//% end"});
      for (std::size_t at = text.find('$'); at != std::string::npos; at = text.find('$', at + 1)) {
        const std::string_view hole = std::string_view(text).substr(at);
        CHECK((hole.starts_with("${tile}") || hole.starts_with("${limit}") || hole.starts_with("${n}")));
      }
      // What depends on a directive stays between its lines.
      const std::size_t begin = text.find("//% if"), middle = text.find("//% else");
      const std::size_t own = text.find("y[1] =");
      CHECK((own == std::string::npos || (begin < own && own < middle)));
    }
  }
  CHECK(seen > 20);
}

TEST_CASE("every edit of the ten plain kernels can be applied and leaves the brackets balanced") {
  for (const char* name : {"convolution", "copy", "gemm", "histogram", "layer_norm", "nbody", "row_sums", "softmax",
                           "stencil", "transpose"}) {
    std::ifstream file(std::string(EVO_TEST_DATA) + "/plain/" + name + ".cu");
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    REQUIRE(!source.empty());
    std::size_t seen = 0;
    for (const auto& edits : edit_sites("k.cu", source)) {
      for (const SourceEdit& edit : edits) {
        const std::string text = edited_text(source, "k.cu", {edit});
        ++seen;
        for (const auto& [open, close] : {std::pair('{', '}'), std::pair('(', ')'), std::pair('[', ']')})
          if (std::ranges::count(text, open) != std::ranges::count(text, close)) FAIL(name << ": " << edit.what);
        if (edit.op != EditOperator::swap && text == source) FAIL(name << ": nothing changed: " << edit.what);
      }
    }
    CHECK(seen > 5);
  }
}
