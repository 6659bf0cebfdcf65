#include "evaluator/vgpu/decode/memory_operands.h"

namespace evo::vgpu {
namespace {

// Scopes, cache operators, eviction priorities: the interpreter has no caches.
constexpr std::string_view kScopes[] = {"cluster", "gpu", "sys", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "unified"};
constexpr std::string_view kHints[] = {"L1::evict_normal", "L1::evict_unchanged",
                                       "L1::evict_first",  "L1::evict_last",
                                       "L1::no_allocate",  "L2::evict_normal",
                                       "L2::evict_first",  "L2::evict_last",
                                       "L2::cache_hint",   "L2::64B",
                                       "L2::128B",         "L2::256B"};

}  // namespace

Where take_space(Form& form) {
  const std::string_view space = form.take_one_of(
      {"global", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "param::func", "const"});
  if (space == "global" || space == "const") return Where::global;
  if (space == "shared::cluster") return Where::cluster;
  if (space.starts_with("shared")) return Where::shared;
  if (space == "local") return Where::local;
  if (space.starts_with("param")) return Where::parameter;
  return Where::generic;
}

MemoryOrder take_memory_hints(Form& form) {
  MemoryOrder order;
  form.take("weak");
  order.is_volatile = form.take("volatile");
  order.strong = order.is_volatile;
  for (const std::string_view strong : {"relaxed", "mmio"}) order.strong |= form.take(strong);
  if (form.take("acquire")) order.acquires = true;
  if (form.take("release")) order.releases = true;
  if (form.take("acq_rel")) order.acquires = order.releases = true;
  order.strong |= order.acquires || order.releases;
  if (form.take("cta")) order.block_scope = true;
  order.read_only = form.take("nc") || form.name() == "ldu";
  for (const std::string_view scope : kScopes) form.take(scope);
  for (const std::string_view hint : kHints) form.take(hint);
  return order;
}

AddressForm take_base(Form& form, const ptx::Operand& operand, Where where, bool writes) {
  if (operand.kind != ptx::Operand::Kind::address || operand.elements.size() != 1)
    form.unsupported("an address is expected");
  const ptx::Operand& base = operand.elements[0];
  KernelBuilder& builder = form.builder();
  AccessMode mode;
  mode.writes = writes;
  if (base.kind == ptx::Operand::Kind::variable) {
    const ptx::Space space = builder.place_of(base).space;
    where = space == ptx::Space::local    ? Where::local
            : space == ptx::Space::shared ? Where::shared
            : space == ptx::Space::param  ? Where::parameter
                                          : Where::global;
  } else if (where == Where::parameter && !builder.in_entry()) {
    where = Where::local;
  }
  if (where == Where::parameter && writes) form.unsupported("writes to the kernel's parameters");
  mode.where = where;
  mode.wide_base = base.kind != ptx::Operand::Kind::reg || ptx::bits_of(builder.type_of(base.index)) == 64;
  form.source(base, mode.wide_base ? ptx::Type::b64 : ptx::Type::b32);
  return {mode, operand.offset};
}

void take_address(Form& form, const ptx::Operand& operand, Where where, bool writes) {
  const AddressForm address = take_base(form, operand, where, writes);
  form.instruction().immediate = address.offset;
  form.instruction().aux0 = address.mode.encoded();
  form.instruction().cache = form.new_cache();
}

}  // namespace evo::vgpu
