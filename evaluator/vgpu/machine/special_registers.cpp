#include "evaluator/vgpu/machine/special_registers.h"

#include <utility>

#include "engine/base/text.h"

namespace evo::vgpu {
namespace {

constexpr std::pair<std::string_view, Special> kNames[] = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%gridid", Special::gridid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%total_smem_size", Special::total_smem_size},
    {"%aggr_smem_size", Special::aggr_smem_size},
    {"%is_explicit_cluster", Special::is_explicit_cluster},
    {"%reserved_smem_offset_begin", Special::reserved_smem_begin},
    {"%reserved_smem_offset_end", Special::reserved_smem_end},
    {"%reserved_smem_offset_cap", Special::reserved_smem_cap},
    {"%reserved_smem_offset_0", Special::reserved_smem_begin},
    {"%clusterid.x", Special::clusterid_x},
    {"%clusterid.y", Special::clusterid_y},
    {"%clusterid.z", Special::clusterid_z},
    {"%nclusterid.x", Special::nclusterid_x},
    {"%nclusterid.y", Special::nclusterid_y},
    {"%nclusterid.z", Special::nclusterid_z},
    {"%cluster_ctaid.x", Special::cluster_ctaid_x},
    {"%cluster_ctaid.y", Special::cluster_ctaid_y},
    {"%cluster_ctaid.z", Special::cluster_ctaid_z},
    {"%cluster_nctaid.x", Special::cluster_nctaid_x},
    {"%cluster_nctaid.y", Special::cluster_nctaid_y},
    {"%cluster_nctaid.z", Special::cluster_nctaid_z},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
    {"%reserved_smem_offset_1", Special::reserved_smem},
    {"%envreg1", Special::grid_workspace_high},
    {"%envreg2", Special::grid_workspace_low},
    {"%current_graph_exec", Special::zero},
};

/// %name0 to %name(count - 1), perhaps with a suffix.
bool is_numbered(std::string_view text, std::string_view name, int count, std::string_view suffix = "") {
  if (!text.starts_with(name) || !text.ends_with(suffix) || text.size() <= name.size() + suffix.size()) return false;
  text = text.substr(name.size(), text.size() - name.size() - suffix.size());
  const std::optional<int> number = number_in<int>(text);
  return number && *number < count;
}

}  // namespace

std::optional<Special> parse_special(std::string_view name) {
  for (const auto& [text, special] : kNames) {
    if (text == name) return special;
  }
  if (is_numbered(name, "%pm", 8) || is_numbered(name, "%pm", 8, "_64") || is_numbered(name, "%envreg", 32))
    return Special::zero;
  return std::nullopt;
}

}  // namespace evo::vgpu
