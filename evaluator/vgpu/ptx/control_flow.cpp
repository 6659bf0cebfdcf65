#include "evaluator/vgpu/ptx/control_flow.h"

#include <algorithm>
#include <cstddef>

namespace evo::vgpu {
namespace {

bool ends_block(const Flow& flow) {
  return flow.kind != Flow::Kind::next;
}

std::vector<char> reachable_blocks(const std::vector<BasicBlock>& blocks) {
  std::vector<char> reached(blocks.size(), 0);
  std::vector<std::uint32_t> open{0};
  reached[0] = 1;
  while (!open.empty()) {
    const std::uint32_t block = open.back();
    open.pop_back();
    for (const std::uint32_t successor : blocks[block].successors) {
      if (reached[successor] != 0) continue;
      reached[successor] = 1;
      open.push_back(successor);
    }
  }
  return reached;
}

/// The nodes from which `exit` is reached, in postorder of the reversed graph, without recursion.
std::vector<std::uint32_t> reversed_postorder(const std::vector<std::vector<std::uint32_t>>& predecessors,
                                              std::uint32_t exit) {
  std::vector<std::uint32_t> order;
  std::vector<char> seen(predecessors.size(), 0);
  std::vector<std::pair<std::uint32_t, std::size_t>> stack{{exit, 0}};
  seen[exit] = 1;
  while (!stack.empty()) {
    auto& [node, at] = stack.back();
    if (at < predecessors[node].size()) {
      const std::uint32_t before = predecessors[node][at++];
      if (seen[before] == 0) {
        seen[before] = 1;
        stack.emplace_back(before, 0);
      }
      continue;
    }
    order.push_back(node);
    stack.pop_back();
  }
  return order;
}

}  // namespace

std::vector<BasicBlock> basic_blocks(const std::vector<Flow>& flows) {
  std::vector<char> leads(flows.size() + 1, 0);
  leads[0] = 1;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (ends_block(flows[i])) leads[i + 1] = 1;
    for (const std::uint32_t target : flows[i].targets) leads[target] = 1;
  }
  std::vector<BasicBlock> blocks;
  std::vector<std::uint32_t> block_of(flows.size(), 0);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (leads[i] != 0) {
      blocks.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i), {}});
    }
    blocks.back().last = static_cast<std::uint32_t>(i);
    block_of[i] = static_cast<std::uint32_t>(blocks.size() - 1);
  }
  for (BasicBlock& block : blocks) {
    const Flow& flow = flows[block.last];
    if ((flow.kind == Flow::Kind::next || flow.kind == Flow::Kind::branch) && block.last + 1 < flows.size()) {
      block.successors.push_back(block_of[block.last + 1]);
    }
    for (const std::uint32_t target : flow.targets) block.successors.push_back(block_of[target]);
    std::sort(block.successors.begin(), block.successors.end());
    block.successors.erase(std::unique(block.successors.begin(), block.successors.end()), block.successors.end());
  }
  return blocks;
}

std::vector<std::int32_t> immediate_post_dominators(const std::vector<BasicBlock>& blocks,
                                                    const std::vector<Flow>& flows) {
  const std::size_t exit = blocks.size();  // A virtual block after every end.
  std::vector<std::vector<std::uint32_t>> predecessors(blocks.size() + 1);
  const std::vector<char> reachable = reachable_blocks(blocks);
  bool leaves = false;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    leaves |= reachable[i] != 0 && flows[blocks[i].last].kind == Flow::Kind::leave;
  }
  const auto leads_to_exit = [&](std::size_t block) {
    const Flow::Kind kind = flows[blocks[block].last].kind;
    return kind == Flow::Kind::leave || (!leaves && kind == Flow::Kind::trap);
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (const std::uint32_t successor : blocks[i].successors)
      predecessors[successor].push_back(static_cast<std::uint32_t>(i));
    if (leads_to_exit(i)) predecessors[exit].push_back(static_cast<std::uint32_t>(i));
  }
  const std::vector<std::uint32_t> order = reversed_postorder(predecessors, static_cast<std::uint32_t>(exit));
  std::vector<std::int32_t> number(blocks.size() + 1, -1);
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<std::int32_t>(i);
  std::vector<std::int32_t> dominator(blocks.size() + 1, -1);
  dominator[exit] = static_cast<std::int32_t>(exit);
  const auto common = [&](std::int32_t a, std::int32_t b) {
    while (a != b) {
      while (number[static_cast<std::size_t>(a)] < number[static_cast<std::size_t>(b)])
        a = dominator[static_cast<std::size_t>(a)];
      while (number[static_cast<std::size_t>(b)] < number[static_cast<std::size_t>(a)])
        b = dominator[static_cast<std::size_t>(b)];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = order.size(); i-- > 0;) {
      const std::uint32_t node = order[i];
      if (node == exit) continue;
      std::int32_t best = leads_to_exit(node) ? static_cast<std::int32_t>(exit) : -1;
      for (const std::uint32_t successor : blocks[node].successors) {
        if (dominator[successor] < 0) continue;
        best = best < 0 ? static_cast<std::int32_t>(successor) : common(best, static_cast<std::int32_t>(successor));
      }
      if (best != dominator[node]) {
        dominator[node] = best;
        changed = true;
      }
    }
  }
  dominator.pop_back();
  for (std::int32_t& block : dominator) {
    if (block == static_cast<std::int32_t>(exit)) block = -1;
  }
  return dominator;
}

}  // namespace evo::vgpu
