#include "evaluator/kernels/device_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/record/enumerators.h"
#include "evaluator/base/random.h"
#include "evaluator/device/draws.h"
#include "evaluator/device/row_norms.h"
#include "evaluator/kernels/kernel_call.h"

namespace evo::embedded {
extern const std::string_view draw_kernels;    // draw_kernels.cu
extern const std::string_view judge_kernels;   // judge_kernels.cu
extern const std::string_view counter_random;  // evaluator/base/counter_random.cuh
extern const std::string_view element_draws;   // evaluator/device/element_draws.cuh
}  // namespace evo::embedded

namespace evo {
namespace {

constexpr std::uint64_t kWarps = kKernelThreads / 32;
/// Elements that a warp sums up at a time where nobody asks for rows.
constexpr std::uint64_t kPiece = 4096;

template <class Enum>
std::string numbers_of(std::string_view space) {
  std::string text = fmt::format("namespace {} {{\n", space);
  for (std::size_t i = 0; i < kEnumerators<Enum>; ++i)
    text += fmt::format("constexpr int {} = {};\n", enumerator_name(static_cast<Enum>(i)), i);
  return text + "}\n";
}

std::uint64_t elements_of(const PlanTensor& tensor) {
  return tensor.bytes * 8 / static_cast<std::uint64_t>(bits_of(tensor.dtype));
}

/// As evo_compare leaves it for each block; the same members.
struct BlockSums {
  double difference_squared, want_squared, got_squared, dot, max_abs, worst_element;
  double change_error, change_squared, change_size, largest_step, next_step;
  std::uint64_t elements, not_finite, unequal, first_unequal, beyond, first_beyond, off_by_one, further_off,
      first_further_off;
};

void add(OutputSums& to, const BlockSums& block) {
  const auto note = [](std::uint64_t& count, std::uint64_t& first, std::uint64_t more, std::uint64_t first_of_those) {
    if (more > 0) first = count > 0 ? std::min(first, first_of_those) : first_of_those;
    count += more;
  };
  to.difference_squared += block.difference_squared;
  to.want_squared += block.want_squared;
  to.got_squared += block.got_squared;
  to.dot += block.dot;
  to.max_abs = std::max(to.max_abs, block.max_abs);
  to.worst_element = std::max(to.worst_element, block.worst_element);
  to.change_error += block.change_error;
  to.change_squared += block.change_squared;
  to.change_size += block.change_size;
  note_step(to, block.largest_step);
  note_step(to, block.next_step);
  to.elements += block.elements;
  to.not_finite += block.not_finite;
  note(to.unequal, to.first_unequal, block.unequal, block.first_unequal);
  note(to.beyond, to.first_beyond, block.beyond, block.first_beyond);
  to.off_by_one += block.off_by_one;
  note(to.further_off, to.first_further_off, block.further_off, block.first_further_off);
}

}  // namespace

Program judge_program() {
  std::string source(embedded::draw_kernels);
  const auto include = [&](std::string_view line, std::string_view text) {
    source.replace(source.find(line), line.size(), text);
  };
  include("#include \"evaluator/base/counter_random.cuh\"\n", embedded::counter_random);
  include("#include \"evaluator/device/element_draws.cuh\"\n", embedded::element_draws);
  Program program;
  program.source =
      "typedef unsigned short u16;\ntypedef unsigned int u32;\ntypedef unsigned long long u64;\n"
      "typedef long long s64;\n" +
      numbers_of<DType>("dtype") + numbers_of<Distribution>("distribution") + numbers_of<StepKind>("step") +
      numbers_of<ElementKind>("element") + numbers_of<ElementSource>("source") + source +
      std::string(embedded::judge_kernels);
  for (const char* kernel : {"evo_draw", "evo_draw_elements", "evo_largest", "evo_encode", "evo_hide", "evo_compare"})
    program.plans["any"].launches.emplace_back().kernel = kernel;
  return program;
}

bool can_compare(DType got, DType want) {
  const auto is_known = [](DType dtype) {
    return bits_of(dtype) >= 8 && dtype != DType::boolean && dtype != DType::e8m0;
  };
  return is_known(got) && is_known(want) && is_integer(got) == is_integer(want) && (is_floating(got) || got == want);
}

DeviceJudge::DeviceJudge(Device& device, std::unique_ptr<Module> module)
    : device_(device), module_(std::move(module)), drawer_(device, *module_) {}

void DeviceJudge::keep_answer(const std::string& name, const BufferSet& set) {
  if (const std::string& why = drawer_.why_unfit(); !why.empty()) throw machine_error(why);
  std::vector<Answer> answer;
  for (std::size_t i = 0; i < set.tensors().size(); ++i) {
    const PlanTensor& tensor = set.tensors()[i];
    if (!tensor.output || tensor.bytes == 0) continue;
    if (!tensor.strides.empty()) throw machine_error("an answer with strides cannot be kept");
    const std::uint64_t words = (tensor.bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
    const std::size_t bytes = words * sizeof(std::uint64_t);
    Answer one{tensor.dtype, elements_of(tensor), bytes, DeviceMemory(device_, bytes, "an answer"), fresh_salt(), 0};
    device_.fill(one.memory.address(), std::byte{0}, bytes);
    device_.copy(one.memory.address(), set.addresses().tensors[i], tensor.bytes);
    run_kernel(device_, *module_, "evo_hide", blocks_for(words, kKernelThreads), {one.memory.address()},
               fields(words, one.key));
    one.digest = device_.digest(one.memory.address(), bytes);
    answer.push_back(std::move(one));
  }
  answers_.insert_or_assign(name, std::move(answer));
}

std::vector<OutputSums> DeviceJudge::compare(const std::string& name, const BufferSet& set,
                                             std::span<const ComparedFor> wanted, const PristineInputs* inputs) {
  const auto found = answers_.find(name);
  if (found == answers_.end() || !drawer_.why_unfit().empty()) return {};
  const std::vector<Answer>& answers = found->second;
  Readback now;
  for (const Answer& one : answers) now.digested.push_back({one.memory.address(), one.bytes});
  device_.read(now);
  if (!std::ranges::equal(now.digests, answers, {}, {}, &Answer::digest)) {
    answers_.erase(found);
    return {};
  }
  std::vector<OutputSums> sums;
  std::size_t drawn = 0;
  for (std::size_t i = 0; i < set.tensors().size(); ++i) {
    const PlanTensor& tensor = set.tensors()[i];
    const std::size_t input = drawn;
    if (tensor.drawn()) ++drawn;
    if (!tensor.output || tensor.bytes == 0) continue;
    const std::size_t number = sums.size();
    if (number >= answers.size() || number >= wanted.size() || elements_of(tensor) != answers[number].elements ||
        !can_compare(tensor.dtype, answers[number].dtype) || !tensor.strides.empty() ||
        (wanted[number].change && inputs == nullptr))
      throw machine_error(fmt::format("output {} cannot be compared with the answer that is kept", tensor.name));
    ComparedFor what = wanted[number];
    what.change = what.change && tensor.drawn();
    const DeviceAddress before = what.change ? inputs->address(input) : 0;
    sums.push_back(compare_one(tensor.dtype, set.addresses().tensors[i], before, answers[number], what));
  }
  return sums;
}

std::vector<DeviceAddress> DeviceJudge::answer_at(const std::string& name) const {
  std::vector<DeviceAddress> addresses;
  if (const auto found = answers_.find(name); found != answers_.end())
    for (const Answer& one : found->second) addresses.push_back(one.memory.address());
  return addresses;
}

OutputSums DeviceJudge::compare_one(DType dtype, DeviceAddress got, DeviceAddress before, const Answer& answer,
                                    const ComparedFor& wanted) const {
  const std::uint64_t row = wanted.row > 0 ? wanted.row : kPiece, rows = (answer.elements + row - 1) / row;
  const std::uint32_t blocks = blocks_for(rows, kWarps);
  const DeviceMemory block_memory(device_, blocks * sizeof(BlockSums), "sums of the judge");
  const DeviceMemory row_memory(device_, wanted.row > 0 ? rows * 2 * sizeof(double) : 1, "rows of the judge");
  run_kernel(device_, *module_, "evo_compare", blocks,
             {got, answer.memory.address(), before, wanted.row > 0 ? row_memory.address() : 0, block_memory.address()},
             fields(answer.elements, row, answer.key, wanted.atol, wanted.rtol, static_cast<int>(dtype),
                    static_cast<int>(answer.dtype), int{wanted.exact}, int{wanted.elementwise}, int{wanted.steps},
                    int{wanted.change}, info_of(dtype).digits, info_of(dtype).least_exponent));
  OutputSums sums;
  std::vector<BlockSums> of_blocks(blocks);
  device_.download(std::as_writable_bytes(std::span(of_blocks)), block_memory.address());
  for (const BlockSums& block : of_blocks) add(sums, block);
  if (wanted.row == 0) return sums;
  std::vector<std::pair<double, double>> of_rows(rows);
  device_.download(std::as_writable_bytes(std::span(of_rows)), row_memory.address());
  RowNorms norms(rows);
  for (std::uint64_t r = 0; r < rows; ++r) norms.set(r, of_rows[r].first, of_rows[r].second);
  const RowFindings findings = norms.findings();
  sums.row_l2 = findings.row_l2;
  sums.worst_row = findings.worst_row;
  sums.rows_that_count = findings.rows_that_count;
  return sums;
}

}  // namespace evo
