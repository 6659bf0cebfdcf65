#include "evaluator/vgpu/machine/special_registers.h"

#include <string>
#include <utility>

#include "engine/base/text.h"
#include "engine/record/enumerators.h"

namespace evo::vgpu {
namespace {

/// Those whose names in Special are others.
constexpr std::pair<std::string_view, Special> kOtherNames[] = {
    {"%reserved_smem_offset_begin", Special::reserved_smem_begin},
    {"%reserved_smem_offset_end", Special::reserved_smem_end},
    {"%reserved_smem_offset_cap", Special::reserved_smem_cap},
    {"%reserved_smem_offset_0", Special::reserved_smem_begin},
    {"%reserved_smem_offset_1", Special::reserved_smem},
    {"%envreg1", Special::grid_workspace_high},
    {"%envreg2", Special::grid_workspace_low},
    {"%current_graph_exec", Special::zero},
};

/// "%tid.x" of Special::tid_x, "%laneid" of Special::laneid.
std::string ptx_name(std::string_view enumerator) {
  std::string name = "%" + std::string(enumerator);
  if (name.ends_with("_x") || name.ends_with("_y") || name.ends_with("_z")) name[name.size() - 2] = '.';
  return name;
}

/// %name0 to %name(count - 1), perhaps with a suffix.
bool is_numbered(std::string_view text, std::string_view name, int count, std::string_view suffix = "") {
  if (!text.starts_with(name) || !text.ends_with(suffix) || text.size() <= name.size() + suffix.size()) return false;
  text = text.substr(name.size(), text.size() - name.size() - suffix.size());
  const std::optional<int> number = number_in<int>(text);
  return number && *number < count;
}

}  // namespace

std::optional<Special> parse_special(std::string_view name) {
  for (const auto& [text, special] : kOtherNames)
    if (text == name) return special;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Special::reserved_smem_begin); ++i)
    if (ptx_name(kEnumeratorNames<Special>[i]) == name) return static_cast<Special>(i);
  if (is_numbered(name, "%pm", 8) || is_numbered(name, "%pm", 8, "_64") || is_numbered(name, "%envreg", 32))
    return Special::zero;
  return std::nullopt;
}

}  // namespace evo::vgpu
