#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "evaluator/program/work.h"

namespace evo::program {

/// A node of a graph. CUgraphNode and cudaGraphNode_t point to it.
struct Node {
  Work work;
  std::vector<Node*> behind;  ///< Nodes that it follows.
  Graph* graph = nullptr;
  bool enabled = true;
};

/// CUgraph and cudaGraph_t point to it.
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;

  Node* add(Work work, std::vector<Node*> behind);
  void remove(Node* node);
  bool has_followers(const Node& node) const;
  bool owns(const Node* node) const;
  /// Each node behind those that it follows. Throws Refusal where they follow each other in a ring.
  std::vector<Node*> in_order() const;
  /// A copy, and where each node of this one is in it.
  std::shared_ptr<Graph> clone(std::map<const Node*, Node*>* where = nullptr) const;
};

/// A graph that can be launched: a copy, in order. CUgraphExec and cudaGraphExec_t point to it.
struct RunnableGraph {
  std::shared_ptr<Graph> graph;
  std::map<const Node*, Node*> where;  ///< Of the nodes of the graph that it was made from.

  /// The node that stands for one of the original graph's.
  Node& of(const Node* original);
};

/// Graphs that exist by their handles. Throws Refusal for what is none.
Graph* keep_graph(std::shared_ptr<Graph> graph);
std::shared_ptr<Graph> graph_of(const void* handle);
void destroy_graph(const void* handle);
RunnableGraph* make_runnable(const Graph& graph);
RunnableGraph& runnable_of(const void* handle);
void destroy_runnable(const void* handle);
Node& node_of(const void* handle);

/// Takes the work of another graph's nodes; refuses one of another form.
void update(RunnableGraph& runnable, const Graph& graph);

}  // namespace evo::program
