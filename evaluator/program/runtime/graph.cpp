#include "evaluator/program/graph.h"

#include <driver_types.h>

#include <algorithm>
#include <cstdint>

#include "evaluator/program/runtime/code.h"
#include "evaluator/program/runtime/entry.h"
#include "evaluator/program/runtime/graph_nodes.h"
#include "evaluator/program/stream.h"

using namespace evo::program;

namespace {

std::vector<Node*> nodes_of(void* const* handles, std::size_t count) {
  std::vector<Node*> nodes;
  require(handles != nullptr || count == 0);
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(&node_of(handles[i]));
  return nodes;
}

template <class Make>
cudaError_t add_node(void** node, void* graph, void* const* behind, std::size_t count, Make make) {
  return answer([&] {
    require(node != nullptr);
    *node = graph_of(graph)->add(make(), nodes_of(behind, count));
  });
}

template <class Make>
cudaError_t set_work(Node& node, Make make) {
  Work work = make();
  require(work.index() == node.work.index());
  node.work = std::move(work);
  return cudaSuccess;
}

template <class Make>
cudaError_t set_node(void* node, Make make) {
  return answer([&] { set_work(node_of(node), make); });
}

template <class Make>
cudaError_t set_in_exec(void* exec, void* node, Make make) {
  return answer([&] { set_work(runnable_of(exec).of(static_cast<const Node*>(node)), make); });
}

}  // namespace

EVO_ENTRY cudaError_t cudaGraphCreate(void** graph, unsigned) {
  return answer([&] {
    require(graph != nullptr);
    *graph = keep_graph(std::make_shared<Graph>());
  });
}

EVO_ENTRY cudaError_t cudaGraphDestroy(void* graph) {
  return answer([&] { destroy_graph(graph); });
}

EVO_ENTRY cudaError_t cudaGraphClone(void** copy, void* graph) {
  return answer([&] {
    require(copy != nullptr);
    *copy = keep_graph(graph_of(graph)->clone());
  });
}

EVO_ENTRY cudaError_t cudaGraphAddKernelNode(void** node, void* graph, void* const* behind, std::size_t count,
                                             const cudaKernelNodeParams* asked) {
  return add_node(node, graph, behind, count, [&] { return kernel_work(asked); });
}

EVO_ENTRY cudaError_t cudaGraphAddMemcpyNode(void** node, void* graph, void* const* behind, std::size_t count,
                                             const cudaMemcpy3DParms* asked) {
  return add_node(node, graph, behind, count, [&] { return copy_work(asked); });
}

EVO_ENTRY cudaError_t cudaGraphAddMemcpyNode1D(void** node, void* graph, void* const* behind, std::size_t count,
                                               void* to, const void* from, std::size_t bytes, int) {
  return add_node(node, graph, behind, count, [&]() -> Work {
    return line_copy(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes);
  });
}

EVO_ENTRY cudaError_t cudaGraphAddMemcpyNodeToSymbol(void** node, void* graph, void* const* behind, std::size_t count,
                                                     const void* symbol, const void* from, std::size_t bytes,
                                                     std::size_t offset, int) {
  return add_node(node, graph, behind, count, [&]() -> Work {
    return line_copy(variable_of(symbol).address + offset, reinterpret_cast<Address>(from), bytes);
  });
}

EVO_ENTRY cudaError_t cudaGraphAddMemcpyNodeFromSymbol(void** node, void* graph, void* const* behind, std::size_t count,
                                                       void* to, const void* symbol, std::size_t bytes,
                                                       std::size_t offset, int) {
  return add_node(node, graph, behind, count, [&]() -> Work {
    return line_copy(reinterpret_cast<Address>(to), variable_of(symbol).address + offset, bytes);
  });
}

EVO_ENTRY cudaError_t cudaGraphAddMemsetNode(void** node, void* graph, void* const* behind, std::size_t count,
                                             const cudaMemsetParams* asked) {
  return add_node(node, graph, behind, count, [&] { return fill_work(asked); });
}

EVO_ENTRY cudaError_t cudaGraphAddHostNode(void** node, void* graph, void* const* behind, std::size_t count,
                                           const cudaHostNodeParams* asked) {
  return add_node(node, graph, behind, count, [&] { return host_work(asked); });
}

EVO_ENTRY cudaError_t cudaGraphAddEmptyNode(void** node, void* graph, void* const* behind, std::size_t count) {
  return add_node(node, graph, behind, count, []() -> Work { return Empty{}; });
}

EVO_ENTRY cudaError_t cudaGraphAddChildGraphNode(void** node, void* graph, void* const* behind, std::size_t count,
                                                 void* child) {
  return add_node(node, graph, behind, count, [&]() -> Work { return ChildGraph{graph_of(child)->clone()}; });
}

EVO_ENTRY cudaError_t cudaGraphAddEventRecordNode(void** node, void* graph, void* const* behind, std::size_t count,
                                                  void* event) {
  return add_node(node, graph, behind, count, [&]() -> Work { return EventRecord{&event_of(event)}; });
}

EVO_ENTRY cudaError_t cudaGraphAddEventWaitNode(void** node, void* graph, void* const* behind, std::size_t count,
                                                void* event) {
  return add_node(node, graph, behind, count, [&]() -> Work { return EventWait{&event_of(event)}; });
}

EVO_ENTRY cudaError_t cudaGraphChildGraphNodeGetGraph(void* node, void** graph) {
  return answer([&] {
    const auto* child = std::get_if<ChildGraph>(&node_of(node).work);
    require(graph != nullptr && child != nullptr);
    *graph = child->graph.get();
  });
}

EVO_ENTRY cudaError_t cudaGraphKernelNodeSetParams(void* node, const cudaKernelNodeParams* asked) {
  return set_node(node, [&] { return kernel_work(asked); });
}

EVO_ENTRY cudaError_t cudaGraphMemcpyNodeSetParams(void* node, const cudaMemcpy3DParms* asked) {
  return set_node(node, [&] { return copy_work(asked); });
}

EVO_ENTRY cudaError_t cudaGraphMemcpyNodeSetParams1D(void* node, void* to, const void* from, std::size_t bytes, int) {
  return set_node(
      node, [&]() -> Work { return line_copy(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes); });
}

EVO_ENTRY cudaError_t cudaGraphMemsetNodeSetParams(void* node, const cudaMemsetParams* asked) {
  return set_node(node, [&] { return fill_work(asked); });
}

EVO_ENTRY cudaError_t cudaGraphHostNodeSetParams(void* node, const cudaHostNodeParams* asked) {
  return set_node(node, [&] { return host_work(asked); });
}

EVO_ENTRY cudaError_t cudaGraphExecKernelNodeSetParams(void* exec, void* node, const cudaKernelNodeParams* asked) {
  return set_in_exec(exec, node, [&] { return kernel_work(asked); });
}

EVO_ENTRY cudaError_t cudaGraphExecMemcpyNodeSetParams(void* exec, void* node, const cudaMemcpy3DParms* asked) {
  return set_in_exec(exec, node, [&] { return copy_work(asked); });
}

EVO_ENTRY cudaError_t cudaGraphExecMemcpyNodeSetParams1D(void* exec, void* node, void* to, const void* from,
                                                         std::size_t bytes, int) {
  return set_in_exec(exec, node, [&]() -> Work {
    return line_copy(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes);
  });
}

EVO_ENTRY cudaError_t cudaGraphExecMemsetNodeSetParams(void* exec, void* node, const cudaMemsetParams* asked) {
  return set_in_exec(exec, node, [&] { return fill_work(asked); });
}

EVO_ENTRY cudaError_t cudaGraphExecHostNodeSetParams(void* exec, void* node, const cudaHostNodeParams* asked) {
  return set_in_exec(exec, node, [&] { return host_work(asked); });
}

EVO_ENTRY cudaError_t cudaGraphNodeSetEnabled(void* exec, void* node, unsigned enabled) {
  return answer([&] { runnable_of(exec).of(static_cast<const Node*>(node)).enabled = enabled != 0; });
}

EVO_ENTRY cudaError_t cudaGraphNodeGetEnabled(void* exec, void* node, unsigned* enabled) {
  return answer([&] {
    require(enabled != nullptr);
    *enabled = runnable_of(exec).of(static_cast<const Node*>(node)).enabled ? 1 : 0;
  });
}

namespace {

cudaError_t link_nodes(void* graph, void* const* from, void* const* to, std::size_t count) {
  return answer([&] {
    graph_of(graph);
    const std::vector<Node*> ahead = nodes_of(from, count), behind = nodes_of(to, count);
    for (std::size_t i = 0; i < count; ++i) behind[i]->behind.push_back(ahead[i]);
  });
}

/// Answers a list as CUDA does: how many there are, or as many as there is room for.
void list(const std::vector<Node*>& nodes, void** out, std::size_t* count) {
  require(count != nullptr);
  if (out != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) out[i] = i < nodes.size() ? nodes[i] : nullptr;
    *count = std::min(*count, nodes.size());
  } else {
    *count = nodes.size();
  }
}

}  // namespace

/// CUDA 13 passes the edges' data before the count; CUDA 12 the count in their place, and no address is so low.
EVO_ENTRY cudaError_t cudaGraphAddDependencies(void* graph, void* const* from, void* const* to, const void* edges,
                                               std::size_t count) {
  const auto number = reinterpret_cast<std::uintptr_t>(edges);
  return link_nodes(graph, from, to, number != 0 && number < 65536 ? number : count);
}

EVO_ENTRY cudaError_t cudaGraphAddDependencies_v2(void* graph, void* const* from, void* const* to, const void*,
                                                  std::size_t count) {
  return link_nodes(graph, from, to, count);
}

EVO_ENTRY cudaError_t cudaGraphGetNodes(void* graph, void** nodes, std::size_t* count) {
  return answer([&] {
    std::vector<Node*> all;
    for (const auto& node : graph_of(graph)->nodes) all.push_back(node.get());
    list(all, nodes, count);
  });
}

EVO_ENTRY cudaError_t cudaGraphGetRootNodes(void* graph, void** nodes, std::size_t* count) {
  return answer([&] {
    std::vector<Node*> roots;
    for (const auto& node : graph_of(graph)->nodes)
      if (node->behind.empty()) roots.push_back(node.get());
    list(roots, nodes, count);
  });
}

EVO_ENTRY cudaError_t cudaGraphNodeGetType(void* node, int* type) {
  return answer([&] {
    require(type != nullptr);
    *type = type_of(node_of(node).work);
  });
}

EVO_ENTRY cudaError_t cudaGraphDestroyNode(void* node) {
  return answer([&] {
    Node& gone = node_of(node);
    gone.graph->remove(&gone);
  });
}

namespace {

cudaError_t instantiate(void** exec, void* graph) {
  return answer([&] {
    require(exec != nullptr);
    *exec = make_runnable(*graph_of(graph));
  });
}

}  // namespace

/// CUDA 11 passed three more arguments, which a caller of this form does not.
EVO_ENTRY cudaError_t cudaGraphInstantiate(void** exec, void* graph, unsigned long long) {
  return instantiate(exec, graph);
}

EVO_ENTRY cudaError_t cudaGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  return instantiate(exec, graph);
}

EVO_ENTRY cudaError_t cudaGraphInstantiateWithParams(void** exec, void* graph, cudaGraphInstantiateParams* asked) {
  if (asked != nullptr) asked->result_out = cudaGraphInstantiateSuccess;
  return instantiate(exec, graph);
}

EVO_ENTRY cudaError_t cudaGraphUpload(void* exec, void*) {
  return answer([&] { runnable_of(exec); });
}

EVO_ENTRY cudaError_t cudaGraphLaunch(void* exec, void* stream) {
  return answer([&] { submit(stream_of(stream), ChildGraph{runnable_of(exec).graph}); });
}

EVO_ENTRY cudaError_t cudaGraphExecDestroy(void* exec) {
  return answer([&] { destroy_runnable(exec); });
}

EVO_ENTRY cudaError_t cudaGraphExecUpdate(void* exec, void* graph, cudaGraphExecUpdateResultInfo* info) {
  return answer([&] {
    if (info != nullptr) info->result = cudaGraphExecUpdateErrorTopologyChanged;
    update(runnable_of(exec), *graph_of(graph));
    if (info != nullptr) info->result = cudaGraphExecUpdateSuccess;
  });
}
