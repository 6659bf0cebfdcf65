#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "evaluator/vgpu/isa/matrix_operations.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/block.h"
#include "evaluator/vgpu/machine/observer.h"
#include "evaluator/vgpu/numbers/tile_fragments.h"

// PTX ISA 9.0, 9.7.15: wgmma.mma_async, fence, commit_group, wait_group.
namespace evo::vgpu {
namespace {

using ptx::Type;

/// All 32 lanes of a warp that belongs to a whole warpgroup.
bool gather_warpgroup_member(Warp& warp, const Instruction& in, std::uint32_t& mask) {
  if (warp.live() != kAllLanes) {
    warp.fail(in, "not all 32 lanes of the warp take part: some have exited or do not exist");
    return false;
  }
  if ((warp.index / kWarpgroupWarps + 1) * kWarpgroupWarps > warp.block->warps.size()) {
    warp.fail(in, fmt::format("warp {} belongs to no whole warpgroup: the block has {} warps", warp.index,
                              warp.block->warps.size()));
    return false;
  }
  return warp.gather(in, mask, kAllLanes);
}

/// An operand that all lanes must agree on.
bool uniform_descriptor(Warp& warp, const Instruction& in, Place place, std::uint64_t& value) {
  const std::uint64_t* row = source_row<std::uint64_t>(warp, place);
  value = row[0];
  for (int lane = 1; lane < 32; ++lane) {
    if (row[lane] == value) continue;
    warp.fail(in,
              fmt::format("the matrix descriptors of lanes 0 and {} differ: {:#x} and {:#x}", lane, value, row[lane]),
              lane);
    return false;
  }
  return true;
}

/// The four warps of a warpgroup must issue the same products with the same operands, each at its own time.
bool agrees_with_warpgroup(Warp& warp, const Instruction& in, std::uint64_t a, std::uint64_t b, bool accumulate) {
  WarpgroupLog& log = warp.block->warpgroups[warp.index / kWarpgroupWarps];
  const WarpgroupLog::Entry mine{&in, a, b, accumulate};
  const std::uint64_t number = warp.products.issued++;
  if (number - log.first == log.entries.size()) {
    log.entries.push_back(mine);
  } else if (!(log.entries[number - log.first] == mine)) {
    warp.fail(in,
              fmt::format("warp {} does not issue the same product as the other warps of its warpgroup: instruction, "
                          "descriptors and scale-d must agree",
                          warp.index));
    return false;
  }
  std::uint64_t all = number + 1;
  for (std::uint32_t w = 0; w < kWarpgroupWarps; ++w)
    all = std::min(all, warp.block->warps[warp.index / kWarpgroupWarps * kWarpgroupWarps + w].products.issued);
  for (; log.first < all; ++log.first) log.entries.pop_front();
  return true;
}

/// Marks D as under way; A and D must be ready to be read.
bool take_registers(Warp& warp, const Instruction& in, std::uint32_t group) {
  const Kernel& kernel = *warp.launch->kernel;
  const ProductRegisters& registers = kernel.product_registers;
  const std::size_t index = kernel.index_of(in);
  ProductWatch& watch = warp.products;
  const std::uint32_t begin = registers.first_use[index], end = registers.first_use[index + 1];
  if (!watch.fenced) {
    warp.fail(in, "no wgmma.fence has been executed: it must come before the first wgmma.mma_async");
    return false;
  }
  const std::uint32_t first_of_a = in.aux0 != 0 ? end - 4 : end;  // Behind D's registers, as results and as sources.
  for (std::uint32_t u = begin; u < first_of_a; ++u) {
    if (!registers.uses[u].write || watch.written[registers.uses[u].reg] == 0) continue;
    warp.fail(in, "an accumulator was written since the last wgmma.fence: another is needed before this product");
    return false;
  }
  for (std::uint32_t u = first_of_a; u < end; ++u) {
    if (watch.group_of[registers.uses[u].reg] != 0) {
      warp.fail(in, "A is the accumulator of a wgmma that has not been waited for (wgmma.wait_group)");
      return false;
    }
    watch.read_by[registers.uses[u].reg] = group + 1;
  }
  for (std::uint32_t u = begin; u < first_of_a; ++u)
    if (registers.uses[u].write) watch.group_of[registers.uses[u].reg] = group + 1;
  return true;
}

bool inside(Warp& warp, const Instruction& in, const SharedPart& part, char operand) {
  const std::uint32_t outside = first_outside(part, warp.block->shared);
  if (outside == 0) return true;
  warp.fail(
      in, fmt::format("{} reads 16 bytes at shared address {:#x}, outside the block's shared memory ({:#x} to {:#x}): "
                      "descriptor start {:#x}, leading offset {}, stride offset {}, swizzle of {} bytes",
                      operand, outside, kReservedSmemBytes, warp.block->shared.size(), part.matrix.start,
                      part.matrix.leading, part.matrix.stride, part.matrix.row_bytes));
  return false;
}

/// op: descriptors of A (unless in registers) and B, predicate scale-d, metadata. aux0: A is in registers. immediate:
/// the form. The list: D's registers as results, again as sources, A's four.
void execute_product(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_warpgroup_member(warp, in, mask)) return;
  const Kernel& kernel = *warp.launch->kernel;
  const WarpgroupForm& form = kernel.warpgroup_forms[static_cast<std::size_t>(in.immediate)];
  const bool a_in_registers = in.aux0 != 0;
  const auto& shared = warp.block->shared;
  ProductWatch& watch = warp.products;

  std::uint64_t descriptor_a = 0, descriptor_b = 0;
  if (!a_in_registers && !uniform_descriptor(warp, in, in.op[0], descriptor_a)) return;
  if (!uniform_descriptor(warp, in, in.op[1], descriptor_b)) return;
  const std::uint32_t scale = get_predicate(warp, in.op[2]);
  if (scale != 0 && scale != kAllLanes) return warp.fail(in, "scale-d differs between lanes");
  if (!agrees_with_warpgroup(warp, in, descriptor_a, descriptor_b, scale != 0)) return;
  if (!take_registers(warp, in, watch.committed)) return;

  ProductWatch::Product product;
  product.group = watch.committed;
  product.issued_in = &in;
  product.b = {decode_descriptor(descriptor_b), 0, form.n, form.sparse ? 4 : 2, form.transpose_b};
  if (!inside(warp, in, product.b, 'B')) return;
  if (!a_in_registers) {
    const int first = static_cast<int>(warp.index % kWarpgroupWarps) * 16;
    product.a = {decode_descriptor(descriptor_a), first, 16, 2, form.transpose_a};
    if (!inside(warp, in, product.a, 'A')) return;
  }

  const int count = accumulator_registers(form);
  const Place* place = kernel.places.data() + in.more;
  std::array<std::uint32_t*, kMaxWarpgroupColumns / 2> accumulators;
  for (int i = 0; i < count; ++i) accumulators[static_cast<std::size_t>(i)] = warp.own(place[i]);
  std::array<TileWord, kProductWords> a;
  if (a_in_registers) {
    place += 2 * count;
    for (std::size_t half = 0; half < 2; ++half)
      to_rows(&a[4 * half], 1, warp.row(place[2 * half]), warp.row(place[2 * half + 1]));
  } else {
    read_part(product.a, shared, 16, a.data());
  }
  std::array<TileWord, kMaxWarpgroupColumns / 8 * 2 * kProductWords> b;
  read_part(product.b, shared, 8, b.data());
  warpgroup_product(form, warp.launch->numerics,
                    {.a = a,
                     .b = b,
                     .metadata = form.sparse ? warp.row(in.op[3]) : nullptr,
                     .accumulators = accumulators.data(),
                     .accumulate = scale != 0});
  if (Observer* const observer = warp.launch->observer) {
    if (!a_in_registers) observer->begin_product_read(warp, in, product.a, 'A');
    observer->begin_product_read(warp, in, product.b, 'B');
  }
  product.checksum = checksum(product.a, shared) + checksum(product.b, shared);
  watch.products.push_back(product);
}

void execute_warpgroup_fence(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_warpgroup_member(warp, in, mask)) return;
  warp.products.fenced = true;
  std::fill(warp.products.written.begin(), warp.products.written.end(), std::uint8_t{0});
}

void execute_commit(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_warpgroup_member(warp, in, mask)) return;
  ++warp.products.committed;
}

/// immediate: how many of the latest groups may stay under way.
void execute_wait(Warp& warp, const Instruction& in, std::uint32_t mask) {
  if (!gather_warpgroup_member(warp, in, mask)) return;
  ProductWatch& watch = warp.products;
  const std::int64_t done = std::int64_t{watch.committed} - in.immediate;  // Groups below it have ended.
  for (const ProductWatch::Product& product : watch.products) {
    if (product.group >= done) continue;
    if (checksum(product.a, warp.block->shared) + checksum(product.b, warp.block->shared) == product.checksum) continue;
    return warp.fail(*product.issued_in,
                     "an operand in shared memory was written while the product was reading it: it had been issued, "
                     "but not waited for (wgmma.wait_group)");
  }
  if (Observer* const observer = warp.launch->observer) {
    for (const ProductWatch::Product& product : watch.products) {
      if (product.group >= done) continue;
      observer->end_product_read(warp, *product.issued_in, product.a);
      observer->end_product_read(warp, *product.issued_in, product.b);
    }
    observer->products_waited(warp);
  }
  std::erase_if(watch.products, [&](const ProductWatch::Product& product) { return product.group < done; });
  for (auto* groups : {&watch.group_of, &watch.read_by})
    for (std::uint32_t& group : *groups)
      if (std::int64_t{group} <= done) group = 0;
}

void take_shape(Form& form, WarpgroupForm& product) {
  const ProductShape shape = take_product_shape(form);
  if (shape.m != kWarpgroupRows) form.unsupported("shape ." + std::string(shape.text));
  product.n = shape.n;
  product.k = shape.k;
}

/// An operand that must be one of two numbers.
bool is_second(Form& form, std::size_t index, std::int64_t first, std::int64_t second, std::string_view what) {
  const ptx::Operand& operand = form.operand(index);
  const auto value = static_cast<std::int64_t>(operand.bits);
  if (operand.kind != ptx::Operand::Kind::integer || (value != first && value != second))
    form.unsupported(fmt::format("{} must be {} or {}", what, first, second));
  return value == second;
}

void decode_warpgroup_product(Form& form) {
  WarpgroupForm product;
  product.sparse = form.take("sp");
  if (!form.take("sync") || !form.take("aligned")) form.unsupported("only .sync.aligned");
  take_shape(form, product);
  product.accumulator = take_mma_type(form);
  product.a = take_mma_type(form);
  product.b = take_mma_type(form);
  product.saturate = form.take("satfinite");
  if (product.a == MmaType::b1 && (!form.take("and") || !form.take("popc"))) form.unsupported("only .and.popc");
  std::string why;
  if (!warpgroup_supported(product, &why)) form.unsupported(why);
  if (product.saturate && product.accumulator != MmaType::s32) form.unsupported(".satfinite of floating point");

  // d, a, b[, metadata, selector], scale-d[, scale-a, scale-b][, transpose-a][, transpose-b]
  const bool a_in_registers = form.operand(1).kind == ptx::Operand::Kind::vector;
  const bool floating = product.accumulator != MmaType::s32;
  const bool halves = product.a == MmaType::f16 || product.a == MmaType::bf16;
  std::size_t at = product.sparse ? 5 : 3;
  const std::size_t wanted = at + 1 + (floating ? 2 : 0) + (halves ? (a_in_registers ? 1 : 2) : 0);
  if (form.operand_count() != wanted) form.unsupported(fmt::format("{} operands are expected", wanted));
  if (product.sparse) product.selector = is_second(form, 4, 0, 1, "the sparsity selector") ? 1 : 0;
  const std::size_t scale_d = at++;
  if (floating) {
    const bool negate_a = is_second(form, at, 1, -1, "scale-a"), negate_b = is_second(form, at + 1, 1, -1, "scale-b");
    product.negate = negate_a != negate_b;
    at += 2;
  }
  if (halves && !a_in_registers) product.transpose_a = is_second(form, at++, 0, 1, "transpose-a");
  if (halves) product.transpose_b = is_second(form, at, 0, 1, "transpose-b");

  a_in_registers ? form.raw(0) : form.source(1, Type::b64);
  form.source(2, Type::b64);
  form.predicate_source(form.operand(scale_d));
  if (product.sparse) form.source(3, Type::b32);
  const auto d = form.elements(0);
  if (static_cast<int>(d.size()) != accumulator_registers(product) || (a_in_registers && form.elements(1).size() != 4))
    form.unsupported("the number of registers does not fit");
  form.begin_list();
  for (const ptx::Operand& element : d) form.list_destination(element, Type::b32);
  for (const ptx::Operand& element : d) form.list_source(element, Type::b32);
  if (a_in_registers)
    for (const ptx::Operand& element : form.elements(1)) form.list_source(element, Type::b32);

  auto& forms = form.builder().kernel().warpgroup_forms;
  form.instruction().immediate = static_cast<std::int64_t>(forms.size());
  form.instruction().aux0 = a_in_registers ? 1 : 0;
  forms.push_back(product);
  form.mma({.m = kWarpgroupRows,
            .n = product.n,
            .k = product.k,
            .a = product.a,
            .b = product.b,
            .accumulator = product.accumulator,
            .saturate = product.saturate});
  form.emit(execute_product, OpClass::warpgroup_product);
}

void decode_wgmma(Form& form) {
  if (form.take("mma_async")) return decode_warpgroup_product(form);
  const std::string_view what = form.take_one_of({"fence", "commit_group", "wait_group"});
  if (what.empty() || !form.take("sync") || !form.take("aligned")) form.unsupported();
  if (what == "fence") return form.emit(execute_warpgroup_fence, OpClass::warpgroup_fence);
  if (what == "commit_group") return form.emit(execute_commit, OpClass::warpgroup_commit);
  take_pending_groups(form);
  form.emit(execute_wait, OpClass::warpgroup_wait);
}

}  // namespace

std::span<const Operation> warpgroup_operations() {
  static constexpr Operation kOperations[] = {{"wgmma", Operands::any, decode_wgmma}};
  return kOperations;
}

}  // namespace evo::vgpu
