#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/sanitiser/sanitiser.h"

// Findings: which are one, and what they say.
namespace evo::vgpu {
namespace {

/// Distinct findings that are kept, and as many weaker ones; a kernel that is wrong everywhere need not be described
/// everywhere.
constexpr std::ptrdiff_t kMostFindings = 64;

/// "thread (3, 0, 0)'s", "its own", "warp 2's" for what its tensor core does, "the" for a copy that a barrier
/// stands for.
std::string describe_other(const Warp& warp, int lane, const Conflict& conflict) {
  const auto at = [](const std::array<std::uint32_t, 3>& size, std::uint32_t linear) {
    return fmt::format("({}, {}, {})", linear % size[0], linear / size[0] % size[1], linear / size[0] / size[1]);
  };
  const BlockWatch& watch = block_watch(*warp.block);
  const bool own_block = conflict.block == watch.number;
  std::string who = fmt::format("thread {}'s", at(warp.launch->block, conflict.thread));
  if (own_block && conflict.thread == warp.thread(lane)) who = "its own";
  if (conflict.thread >= watch.product_thread(0)) {
    const std::uint32_t product = conflict.thread - watch.product_thread(0);
    who = product < watch.warps.size() ? fmt::format("warp {}'s", product) : "the";
  }
  return own_block ? who : fmt::format("block {}, {}", at(warp.launch->grid, conflict.block), who);
}

/// "'tile'" of "writes 4 bytes at byte 4 of 'tile' (shared memory, 256 bytes)"
std::string name_in(const std::string& doing) {
  const std::size_t begin = doing.find('\''), end = doing.find('\'', begin + 1);
  return end == std::string::npos ? "the same bytes" : doing.substr(begin, end + 1 - begin);
}

/// "line 9 reads 'x' through the read-only cache, line 7 writes it"; empty where a line is unknown.
std::string brief_stale(const std::string& name, std::uint32_t reader, std::uint32_t writer) {
  if (reader == 0 || writer == 0) return {};
  return fmt::format("line {} reads {} through the read-only cache, line {} writes it", reader, name, writer);
}

/// What is missing between two accesses.
std::string missing_between(const Conflict& conflict, bool own_block, bool own_warp) {
  if (conflict.under_way) return "missing wait for an asynchronous copy";
  if (conflict.unfenced) return "missing fence.proxy.async";
  if (own_warp) return "missing __syncwarp";
  return own_block ? "missing __syncthreads" : "blocks race";
}

/// "missing __syncthreads: line 4 writes 'tile', line 6 reads it"; empty where a line is unknown.
std::string brief_race(const std::string& missing, const std::string& name, std::uint32_t earlier, bool earlier_writes,
                       std::uint32_t line, bool writes) {
  if (earlier == 0 || line == 0) return {};
  const auto verb = [](bool does_write) { return does_write ? "writes" : "reads"; };
  if (earlier == line && earlier_writes == writes)
    return fmt::format("several threads {} {} in line {}: nothing orders them", writes ? "write" : "read", name, line);
  // The write first, whichever came first in this schedule: either order is one mistake.
  if (writes && !earlier_writes) {
    std::swap(earlier, line);
    std::swap(earlier_writes, writes);
  }
  return fmt::format("{}: line {} {} {}, line {} {} it", missing, earlier, verb(earlier_writes), name, line,
                     verb(writes));
}

}  // namespace

/// Equal lines of one kernel are one finding, whichever thread and instruction came first.
std::optional<std::size_t> Sanitiser::add(const Finding& finding, const std::string& place, std::uint32_t other_line) {
  const auto [known, fresh] =
      known_.try_emplace({finding.kind, finding.kernel, place, finding.line, other_line}, findings_.size());
  const auto alike = [&](const Finding& other) { return is_weaker(other.kind) == is_weaker(finding.kind); };
  if (!fresh) {
    ++findings_[known->second].count;
  } else if (std::ranges::count_if(findings_, alike) < kMostFindings) {
    findings_.push_back(finding);
  } else {
    known_.erase(known);
    return std::nullopt;
  }
  return known->second;
}

bool Sanitiser::reported(FindingKind kind, const Warp& warp, const Instruction& in, std::uint32_t other_code) {
  const auto found = reported_.find({kind, warp.launch->kernel->index_of(in), other_code});
  if (found == reported_.end()) return false;
  if (found->second) ++findings_[*found->second].count;
  return true;
}

void Sanitiser::report(FindingKind kind, const Warp& warp, const Instruction& in, int lane, const std::string& what,
                       std::uint32_t other_code, const std::string& brief) {
  report_at(kind, *warp.launch->kernel, warp.launch->kernel->index_of(in),
            fmt::format("{}: {}", describe_thread(warp, in, lane), what), other_code, brief);
}

void Sanitiser::report_at(FindingKind kind, const Kernel& kernel, std::uint32_t code, const std::string& text,
                          std::uint32_t other_code, const std::string& brief) {
  Finding finding;
  finding.kind = kind;
  finding.kernel = kernel.name;
  finding.line = kernel.lines[code];
  finding.text = text;
  finding.brief = brief;
  reported_[{kind, code, other_code}] = add(finding, finding.line != 0 ? "" : std::to_string(code),
                                            other_code == kNowhere ? 0 : kernel.lines[other_code]);
}

std::string Sanitiser::describe_access(std::string_view verb, const Warp& warp, AccessMode mode, std::uint32_t bytes,
                                       std::uint64_t address) {
  return fmt::format("{} {} byte{} at {}", verb, bytes, bytes == 1 ? "" : "s", describe_place(warp, mode, address));
}

void Sanitiser::report_race(const Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint32_t bytes,
                            std::uint64_t address, const Conflict& conflict) {
  const Kernel& kernel = *warp.launch->kernel;
  // One that looks again in the next round may wait in a way that the code does not show.
  const std::uint32_t reader = mode.writes ? conflict.code : kernel.index_of(in);
  const bool of_values = conflict.of_values && locate(warp, mode, lane, address).buffer != nullptr &&
                         uses_->look_of(reader) != ValueUses::Look::once;
  const FindingKind kind = conflict.under_way    ? FindingKind::unwaited_copy
                           : conflict.same_bytes ? FindingKind::benign_looking
                           : of_values           ? FindingKind::unordered_volatile
                                                 : FindingKind::race;
  if (reported(kind, warp, in, conflict.code)) return;
  const bool own_block = conflict.block == block_watch(*warp.block).number;
  const std::string who = describe_other(warp, lane, conflict);
  const std::uint32_t line = kernel.lines[conflict.code];
  const std::string other = fmt::format("{}{}", kernel.opcodes[kernel.opcode_of[conflict.code]],
                                        line != 0 ? fmt::format(" in line {}", line) : "");
  const std::string doing = describe_access(mode.writes ? "writes" : "reads", warp, mode, bytes, address);
  const bool own_warp = own_block && conflict.thread / 32 == warp.index;
  const std::string brief = brief_race(missing_between(conflict, own_block, own_warp), name_in(doing), line,
                                       conflict.with_write, kernel.lines[kernel.index_of(in)], mode.writes);
  if (conflict.under_way) {
    report(FindingKind::unwaited_copy, warp, in, lane,
           fmt::format("{} while {} {} is under way there: it has not been waited for", doing, who, other),
           conflict.code, brief);
    return;
  }
  if (conflict.unfenced) {
    report(FindingKind::race, warp, in, lane,
           fmt::format("{}, asynchronously, what {} {} has written: without a fence.proxy.async it may see older bytes",
                       doing, who, other),
           conflict.code, brief);
    return;
  }
  const std::string what = conflict.with_write ? "a write" : "a read";
  if (kind == FindingKind::benign_looking) {
    report(kind, warp, in, lane,
           fmt::format("{}, as they are already: nothing orders it and {} {} ({})", doing, who, other, what),
           conflict.code, brief);
    return;
  }
  if (kind == FindingKind::unordered_volatile) {
    report(kind, warp, in, lane,
           fmt::format("{}: nothing orders it and {} {} ({}): volatile does not, and no fence lies before the write",
                       doing, who, other, what),
           conflict.code, brief);
    return;
  }
  const std::string remedy = own_warp    ? "no __syncwarp or other barrier lies between them"
                             : own_block ? "no barrier lies between them"
                                         : "nothing orders them (fence and atomic, or another launch)";
  report(kind, warp, in, lane, fmt::format("{}: a race with {} {} ({}): {}", doing, who, other, what, remedy),
         conflict.code, brief);
}

void Sanitiser::report_stale(const Warp& warp, std::uint32_t reader, std::uint32_t writer, const std::string& reading) {
  const Kernel& kernel = *warp.launch->kernel;
  if (reported(FindingKind::stale_read, warp, kernel.code[reader], writer)) return;
  const auto line_of = [&](std::uint32_t code) {
    return kernel.lines[code] != 0 ? fmt::format("line {}", kernel.lines[code])
                                   : fmt::format("PTX line {}", kernel.ptx_lines[code]);
  };
  report_at(
      FindingKind::stale_read, kernel, reader,
      fmt::format("kernel {}, {}: {}: {} through the read-only cache, but {} in {} of the same launch writes them: "
                  "the cache may keep older bytes (ld.global.nc, __ldg and const __restrict__ are for memory that "
                  "nobody writes while the kernel runs)",
                  kernel.name, line_of(reader), kernel.opcode_at(reader), reading, kernel.opcode_at(writer),
                  line_of(writer)),
      writer, brief_stale(name_in(reading), kernel.lines[reader], kernel.lines[writer]));
}

}  // namespace evo::vgpu