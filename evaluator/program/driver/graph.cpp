#include "evaluator/program/graph.h"

#include <memory>
#include <vector>

#include "evaluator/program/driver/structs.h"
#include "evaluator/program/entry.h"
#include "evaluator/program/stream.h"

using namespace evo::program;

namespace {

template <class Make>
int add_node(void** node, void* graph, void* const* behind, std::size_t count, Make make) {
  return coded([&] {
    require(node != nullptr && (behind != nullptr || count == 0));
    std::vector<Node*> ahead;
    for (std::size_t i = 0; i < count; ++i) ahead.push_back(&node_of(behind[i]));
    *node = graph_of(graph)->add(make(), std::move(ahead));
  });
}

Work checked(KernelLaunch launch) {
  check(launch);
  return launch;
}

int instantiate(void** exec, void* graph) {
  return coded([&] {
    require(exec != nullptr);
    *exec = make_runnable(*graph_of(graph));
  });
}

}  // namespace

EVO_ENTRY int cuGraphCreate(void** graph, unsigned) {
  return coded([&] {
    require(graph != nullptr);
    *graph = keep_graph(std::make_shared<Graph>());
  });
}
EVO_ENTRY int cuGraphDestroy(void* graph) {
  return coded([&] { destroy_graph(graph); });
}
EVO_ENTRY int cuGraphClone(void** copy, void* graph) {
  return coded([&] {
    require(copy != nullptr);
    *copy = keep_graph(graph_of(graph)->clone());
  });
}
EVO_ENTRY int cuGraphAddKernelNode_v2(void** node, void* graph, void* const* behind, std::size_t count,
                                      const void* asked) {
  return add_node(node, graph, behind, count, [&] { return checked(launch_of_node(asked)); });
}
EVO_ENTRY int cuGraphAddMemcpyNode(void** node, void* graph, void* const* behind, std::size_t count, const void* asked,
                                   void*) {
  return add_node(node, graph, behind, count, [&]() -> Work { return copy_of_3d(asked); });
}
EVO_ENTRY int cuGraphAddMemsetNode(void** node, void* graph, void* const* behind, std::size_t count, const void* asked,
                                   void*) {
  return add_node(node, graph, behind, count, [&]() -> Work { return fill_of(asked); });
}
EVO_ENTRY int cuGraphAddHostNode(void** node, void* graph, void* const* behind, std::size_t count, const void* asked) {
  return add_node(node, graph, behind, count, [&]() -> Work { return host_call_of(asked); });
}
EVO_ENTRY int cuGraphAddEmptyNode(void** node, void* graph, void* const* behind, std::size_t count) {
  return add_node(node, graph, behind, count, []() -> Work { return Empty{}; });
}
EVO_ENTRY int cuGraphAddChildGraphNode(void** node, void* graph, void* const* behind, std::size_t count, void* child) {
  return add_node(node, graph, behind, count, [&]() -> Work { return ChildGraph{graph_of(child)->clone()}; });
}
EVO_ENTRY int cuGraphExecKernelNodeSetParams_v2(void* exec, void* node, const void* asked) {
  return coded([&] {
    Node& of = runnable_of(exec).of(static_cast<const Node*>(node));
    require(std::holds_alternative<KernelLaunch>(of.work));
    of.work = checked(launch_of_node(asked));
  });
}
EVO_ENTRY int cuGraphNodeGetType(void* node, int* type) {
  return coded([&] {
    require(type != nullptr);
    *type = type_of(node_of(node).work);
  });
}
EVO_ENTRY int cuGraphInstantiate_v2(void** exec, void* graph, void*, char*, std::size_t) {
  return instantiate(exec, graph);
}
EVO_ENTRY int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  return instantiate(exec, graph);
}
EVO_ENTRY int cuGraphUpload(void* exec, void*) {
  return coded([&] { runnable_of(exec); });
}
EVO_ENTRY int cuGraphLaunch(void* exec, void* stream) {
  return coded([&] { submit(stream_of(stream), ChildGraph{runnable_of(exec).graph}); });
}
EVO_ENTRY int cuGraphExecDestroy(void* exec) {
  return coded([&] { destroy_runnable(exec); });
}
EVO_ENTRY int cuGraphExecUpdate_v2(void* exec, void* graph, void*) {
  return coded([&] { update(runnable_of(exec), *graph_of(graph)); });
}
