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
#include "evaluator/device/quantisation.h"
#include "evaluator/device/regime_values.h"
#include "evaluator/device/row_norms.h"

namespace evo::embedded {
extern const std::string_view judge_kernels;   // judge_kernels.cu
extern const std::string_view counter_random;  // evaluator/base/counter_random.cuh
}  // namespace evo::embedded

namespace evo {
namespace {

constexpr std::uint32_t kThreads = 256, kMostBlocks = 1024;
constexpr std::uint64_t kWarps = kThreads / 32;
/// Elements that a warp sums up at a time where nobody asks for rows.
constexpr std::uint64_t kPiece = 4096;
/// Elements at either end of a drawn input that the host draws too, to see that both agree. A multiple of 4.
constexpr std::uint64_t kDrawnByBoth = 1024;

std::uint32_t blocks_for(std::uint64_t units, std::uint64_t of_a_block) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>((units + of_a_block - 1) / of_a_block, 1, kMostBlocks));
}

template <class Enum>
std::string numbers_of(std::string_view space) {
  std::string text = fmt::format("namespace {} {{\n", space);
  for (std::size_t i = 0; i < kEnumerators<Enum>; ++i)
    text += fmt::format("constexpr int {} = {};\n", enumerator_name(static_cast<Enum>(i)), i);
  return text + "}\n";
}

Scalar scalar_of(std::uint64_t value) {
  return {{DType::u64, 1}, {value}};
}
Scalar scalar_of(double value) {
  return {{DType::f64, 1}, {value}};
}
Scalar scalar_of(float value) {
  return {{DType::f32, 1}, {static_cast<double>(value)}};
}
Scalar scalar_of(int value) {
  return {{DType::s32, 1}, {std::int64_t{value}}};
}
/// A struct's members.
template <class... Values>
std::vector<Scalar> fields(Values... values) {
  return {scalar_of(values)...};
}

std::uint64_t elements_of(const PlanTensor& tensor) {
  return tensor.bytes * 8 / static_cast<std::uint64_t>(bits_of(tensor.dtype));
}

/// As evo_compare leaves it for each block; the same members.
struct BlockSums {
  double difference_squared, want_squared, got_squared, dot, max_abs, worst_element;
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
  to.elements += block.elements;
  to.not_finite += block.not_finite;
  note(to.unequal, to.first_unequal, block.unequal, block.first_unequal);
  note(to.beyond, to.first_beyond, block.beyond, block.first_beyond);
  to.off_by_one += block.off_by_one;
  note(to.further_off, to.first_further_off, block.further_off, block.first_further_off);
}

/// The elements `begin` to `end` of an input as the host draws them.
std::vector<std::byte> drawn_here(const CaseRecipe& recipe, const InputRecipe& input, std::uint64_t begin,
                                  std::uint64_t end) {
  std::vector<float> values(end - begin);
  draw_values(input, recipe.seed, begin, end, values.data());
  std::vector<std::byte> bytes(bytes_for(input.dtype, end - begin));
  for (std::uint64_t i = 0; i < values.size(); ++i) store_rounded(input.dtype, values[i], bytes.data(), i);
  return bytes;
}

}  // namespace

std::string judge_source() {
  constexpr std::string_view kInclude = "#include \"evaluator/base/counter_random.cuh\"\n";
  std::string source(embedded::judge_kernels);
  source.replace(source.find(kInclude), kInclude.size(), embedded::counter_random);
  return "typedef unsigned short u16;\ntypedef unsigned int u32;\ntypedef unsigned long long u64;\n"
         "typedef long long s64;\n" +
         numbers_of<DType>("dtype") + numbers_of<Distribution>("distribution") + source;
}

std::vector<std::string> judge_kernels() {
  return {"evo_draw", "evo_hide", "evo_compare"};
}

bool can_compare(DType got, DType want, const ComparedFor& what) {
  const auto is_known = [](DType dtype) {
    return bits_of(dtype) >= 8 && dtype != DType::boolean && dtype != DType::e8m0;
  };
  const auto has_steps = [&] {
    return is_integer(got) || (want != DType::f64 && (got == DType::f32 || got == DType::f16 || got == DType::bf16));
  };
  return is_known(got) && is_known(want) && is_integer(got) == is_integer(want) && (is_floating(got) || got == want) &&
         (!what.steps || has_steps());
}

DeviceJudge::DeviceJudge(Device& device, std::unique_ptr<Module> module)
    : device_(device), module_(std::move(module)) {}

void DeviceJudge::run(const char* kernel, std::uint32_t blocks, std::vector<DeviceAddress> addresses,
                      std::vector<Scalar> values) const {
  Plan plan;
  Launch launch;
  launch.kernel = kernel;
  launch.grid = {blocks, 1, 1};
  launch.block = {kThreads, 1, 1};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    plan.tensors.push_back({.name = "judged", .dtype = DType::u64, .bytes = sizeof(std::uint64_t)});
    launch.arguments.push_back({Argument::Kind::tensor, i});
  }
  launch.arguments.push_back({Argument::Kind::value, 0, std::move(values)});
  plan.launches.push_back(std::move(launch));
  if (const auto failure = device_.run(*module_, plan, {std::move(addresses), {}}))
    throw machine_error(fmt::format("{}: {}: {}", device_.info().id, kernel, failure->reason));
}

// ---- Inputs

bool DeviceJudge::draws(const CaseRecipe& recipe, std::size_t number) const {
  const InputRecipe& input = recipe.inputs.at(number);
  const bool is_plain = !recipe.repeating && !recipe.perturbed && !input.scale && !input.is_computed &&
                        !input.widened && input.strides.empty() && input.steps.empty() && input.elements > 0;
  const bool has_format = input.dtype == DType::f32 || input.dtype == DType::f16 || input.dtype == DType::bf16;
  // Those take the host's mathematical library, or tables.
  const bool has_formula =
      input.distribution != Distribution::log_normal_rows && input.distribution != Distribution::ties;
  return why_unfit_.empty() && is_plain && has_format && has_formula && is_drawn_by_regime(input);
}

bool DeviceJudge::draw(const CaseRecipe& recipe, std::size_t number, DeviceAddress to) {
  const InputRecipe& input = recipe.inputs.at(number);
  run("evo_draw", blocks_for(input.elements, std::uint64_t{4} * kThreads), {to},
      fields(input.elements, input.row, input.matrix, input.group, input.stream, recipe.seed, input.gain,
             largest_move(input), static_cast<int>(input.distribution), static_cast<int>(input.dtype)));
  const std::uint64_t end = input.elements, last = end > kDrawnByBoth ? (end - kDrawnByBoth) / 4 * 4 : 0;
  for (const auto& [from, until] : {std::pair{std::uint64_t{0}, std::min(end, kDrawnByBoth)}, std::pair{last, end}}) {
    std::vector<std::byte> found(bytes_for(input.dtype, until - from));
    device_.download(found, to + bytes_for(input.dtype, from));
    if (found == drawn_here(recipe, input, from, until)) continue;
    why_unfit_ = fmt::format("{} draws other numbers for input {} than the host", device_.info().id, input.name);
    answers_.clear();
    return false;
  }
  return true;
}

// ---- Answers

void DeviceJudge::keep_answer(const std::string& name, const BufferSet& set) {
  if (!why_unfit_.empty()) throw machine_error(why_unfit_);
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
    run("evo_hide", blocks_for(words, kThreads), {one.memory.address()}, fields(words, one.key));
    one.digest = device_.digest(one.memory.address(), bytes);
    answer.push_back(std::move(one));
  }
  answers_.insert_or_assign(name, std::move(answer));
}

std::vector<OutputSums> DeviceJudge::compare(const std::string& name, const BufferSet& set,
                                             std::span<const ComparedFor> wanted) {
  const auto found = answers_.find(name);
  if (found == answers_.end()) return {};
  const std::vector<Answer>& answers = found->second;
  Readback now;
  for (const Answer& one : answers) now.digested.push_back({one.memory.address(), one.bytes});
  device_.read(now);
  if (!std::ranges::equal(now.digests, answers, {}, {}, &Answer::digest)) {
    answers_.erase(found);
    return {};
  }
  std::vector<OutputSums> sums;
  for (std::size_t i = 0; i < set.tensors().size(); ++i) {
    const PlanTensor& tensor = set.tensors()[i];
    if (!tensor.output || tensor.bytes == 0) continue;
    const std::size_t number = sums.size();
    if (number >= answers.size() || number >= wanted.size() || elements_of(tensor) != answers[number].elements ||
        !can_compare(tensor.dtype, answers[number].dtype, wanted[number]) || !tensor.strides.empty())
      throw machine_error(fmt::format("output {} cannot be compared with the answer that is kept", tensor.name));
    sums.push_back(compare_one(tensor.dtype, set.addresses().tensors[i], answers[number], wanted[number]));
  }
  return sums;
}

std::vector<DeviceAddress> DeviceJudge::answer_at(const std::string& name) const {
  std::vector<DeviceAddress> addresses;
  if (const auto found = answers_.find(name); found != answers_.end())
    for (const Answer& one : found->second) addresses.push_back(one.memory.address());
  return addresses;
}

OutputSums DeviceJudge::compare_one(DType dtype, DeviceAddress got, const Answer& answer,
                                    const ComparedFor& wanted) const {
  const std::uint64_t row = wanted.row > 0 ? wanted.row : kPiece, rows = (answer.elements + row - 1) / row;
  const std::uint32_t blocks = blocks_for(rows, kWarps);
  const DeviceMemory block_memory(device_, blocks * sizeof(BlockSums), "sums of the judge");
  const DeviceMemory row_memory(device_, wanted.row > 0 ? rows * 2 * sizeof(double) : 1, "rows of the judge");
  run("evo_compare", blocks,
      {got, answer.memory.address(), wanted.row > 0 ? row_memory.address() : 0, block_memory.address()},
      fields(answer.elements, row, answer.key, wanted.atol, wanted.rtol, static_cast<int>(dtype),
             static_cast<int>(answer.dtype), int{wanted.exact}, int{wanted.elementwise}, int{wanted.steps},
             info_of(dtype).digits, info_of(dtype).least_exponent));
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
