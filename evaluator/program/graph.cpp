#include "evaluator/program/graph.h"

#include <algorithm>
#include <set>
#include <utility>

namespace evo::program {
namespace {

std::map<const void*, std::shared_ptr<Graph>>& graphs() {
  static auto& all = *new std::map<const void*, std::shared_ptr<Graph>>;
  return all;
}
std::map<const void*, std::unique_ptr<RunnableGraph>>& runnables() {
  static auto& all = *new std::map<const void*, std::unique_ptr<RunnableGraph>>;
  return all;
}

}  // namespace

Node* Graph::add(Work work, std::vector<Node*> behind) {
  for (const Node* node : behind) require(owns(node));
  auto node = std::make_unique<Node>();
  node->work = std::move(work);
  node->behind = std::move(behind);
  node->graph = this;
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

void Graph::remove(Node* node) {
  require(owns(node));
  for (const auto& one : nodes) std::erase(one->behind, node);
  std::erase_if(nodes, [&](const auto& one) { return one.get() == node; });
}

bool Graph::has_followers(const Node& node) const {
  return std::ranges::any_of(
      nodes, [&](const auto& one) { return std::ranges::find(one->behind, &node) != one->behind.end(); });
}

bool Graph::owns(const Node* node) const {
  return std::ranges::any_of(nodes, [&](const auto& one) { return one.get() == node; });
}

std::vector<Node*> Graph::in_order() const {
  std::vector<Node*> ordered;
  std::set<const Node*> done;
  while (ordered.size() < nodes.size()) {
    const std::size_t before = ordered.size();
    for (const auto& node : nodes) {
      const bool ready = std::ranges::all_of(node->behind, [&](const Node* one) { return done.contains(one); });
      if (!ready || !done.insert(node.get()).second) continue;
      ordered.push_back(node.get());
    }
    require(ordered.size() > before);
  }
  return ordered;
}

std::shared_ptr<Graph> Graph::clone(std::map<const Node*, Node*>* where) const {
  auto copy = std::make_shared<Graph>();
  std::map<const Node*, Node*> copies;
  for (const Node* node : in_order()) {
    std::vector<Node*> behind;
    for (const Node* one : node->behind) behind.push_back(copies.at(one));
    Work work = node->work;
    if (auto* child = std::get_if<ChildGraph>(&work)) child->graph = child->graph->clone();
    copies[node] = copy->add(std::move(work), std::move(behind));
    copies[node]->enabled = node->enabled;
  }
  if (where != nullptr) *where = std::move(copies);
  return copy;
}

Node& RunnableGraph::of(const Node* original) {
  const auto found = where.find(original);
  require(found != where.end());
  return *found->second;
}

Graph* keep_graph(std::shared_ptr<Graph> graph) {
  Graph* handle = graph.get();
  graphs()[handle] = std::move(graph);
  return handle;
}

std::shared_ptr<Graph> graph_of(const void* handle) {
  if (const auto found = graphs().find(handle); found != graphs().end()) return found->second;
  // That of a child node.
  for (const auto& [key, graph] : graphs())
    for (const auto& node : graph->nodes)
      if (const auto* child = std::get_if<ChildGraph>(&node->work); child && child->graph.get() == handle)
        return child->graph;
  throw Refusal(Code::invalid_value);
}

void destroy_graph(const void* handle) {
  require(graphs().erase(handle) == 1);
}

RunnableGraph* make_runnable(const Graph& graph) {
  auto runnable = std::make_unique<RunnableGraph>();
  runnable->graph = graph.clone(&runnable->where);
  RunnableGraph* handle = runnable.get();
  runnables()[handle] = std::move(runnable);
  return handle;
}

RunnableGraph& runnable_of(const void* handle) {
  const auto found = runnables().find(handle);
  require(found != runnables().end());
  return *found->second;
}

void destroy_runnable(const void* handle) {
  require(runnables().erase(handle) == 1);
}

Node& node_of(const void* handle) {
  for (const auto& [key, graph] : graphs())
    for (const auto& node : graph->nodes)
      if (node.get() == handle) return *node;
  throw Refusal(Code::invalid_value);
}

void update(RunnableGraph& runnable, const Graph& graph) {
  const std::vector<Node*> from = graph.in_order(), to = runnable.graph->in_order();
  require(from.size() == to.size(), Code::graph_update_failed);
  for (std::size_t i = 0; i < from.size(); ++i)
    require(from[i]->work.index() == to[i]->work.index() && from[i]->behind.size() == to[i]->behind.size(),
            Code::graph_update_failed);
  runnable.where.clear();
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i]->work = from[i]->work;
    if (auto* child = std::get_if<ChildGraph>(&to[i]->work)) child->graph = child->graph->clone();
    runnable.where[from[i]] = to[i];
  }
}

}  // namespace evo::program
