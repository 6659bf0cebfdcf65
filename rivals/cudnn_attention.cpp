// Attention of E4M3 codes by cuDNN's graph interface, as functions that cudnn_attention.py calls. Built there with the
// headers of cudnn-frontend; libcudnn itself is opened at run time.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace fe = cudnn_frontend;

void* cudnn_frontend::cudnn_dlhandle = nullptr;

namespace {

struct Attention {
  cudnnHandle_t handle = nullptr;
  fe::graph::Graph graph;
  std::vector<std::shared_ptr<fe::graph::Tensor_attributes>> tensors;  // In the order of Pointers.
  std::int64_t workspace_bytes = 0;
};

void say(char* error, std::size_t size, const std::string& what) {
  std::snprintf(error, size, "%s", what.c_str());
}

fe::graph::Tensor_attributes one_number(const char* name) {
  return fe::graph::Tensor_attributes()
      .set_name(name)
      .set_dim({1, 1, 1, 1})
      .set_stride({1, 1, 1, 1})
      .set_data_type(fe::DataType_t::FLOAT);
}

std::string build(Attention& made, std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t width,
                  bool causal, float scale, fe::DataType_t out) {
  fe::graph::Graph& graph = made.graph;
  graph.set_io_data_type(fe::DataType_t::FP8_E4M3)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  const std::vector<std::int64_t> dims = {batch, heads, length, width};
  const std::vector<std::int64_t> strides = {heads * length * width, length * width, width, 1};
  for (const char* name : {"q", "k", "v"})
    made.tensors.push_back(
        graph.tensor(fe::graph::Tensor_attributes().set_name(name).set_dim(dims).set_stride(strides)));
  for (const char* name : {"descale_q", "descale_k", "descale_v", "descale_s", "scale_s", "scale_o"})
    made.tensors.push_back(graph.tensor(one_number(name)));
  const auto& t = made.tensors;
  auto options = fe::graph::SDPA_fp8_attributes()
                     .set_name("attention")
                     .set_generate_stats(false)
                     .set_causal_mask(causal)
                     .set_attn_scale(scale);
  auto [o, stats, amax_s, amax_o] = graph.sdpa_fp8(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], options);
  o->set_output(true).set_dim(dims).set_stride(strides).set_data_type(out);
  for (const auto& amax : {amax_s, amax_o})
    amax->set_output(true).set_dim({1, 1, 1, 1}).set_stride({1, 1, 1, 1}).set_data_type(fe::DataType_t::FLOAT);
  made.tensors.insert(made.tensors.end(), {o, amax_s, amax_o});
  const std::vector<std::function<fe::error_t()>> steps = {
      [&] { return graph.validate(); },
      [&] { return graph.build_operation_graph(made.handle); },
      [&] { return graph.create_execution_plans({fe::HeurMode_t::A}); },
      [&] { return graph.check_support(made.handle); },
      [&] { return graph.build_plans(made.handle, fe::BuildPlanPolicy_t::ALL); },
  };
  for (const auto& step : steps)
    if (fe::error_t status = step(); status.is_bad())
      return status.get_message().empty() ? "cuDNN has no plan for it" : status.get_message();
  made.workspace_bytes = graph.get_autotune_workspace_size();
  return {};
}

}  // namespace

extern "C" {

// Opens the library. Returns its version; 0: it cannot be opened.
std::int64_t open_cudnn(const char* library) {
  fe::cudnn_dlhandle = dlopen(library, RTLD_NOW);
  if (fe::cudnn_dlhandle == nullptr) return 0;
  return static_cast<std::int64_t>(fe::detail::get_backend_version());
}

// For tensors of (batch, heads, length, width), dense. `out`: 0 e4m3, 1 f16, 2 bf16. Null, with `error`, where cuDNN
// has no plan.
void* make_attention(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t width, int causal,
                     float scale, int out, char* error, std::size_t size) {
  auto made = std::make_unique<Attention>();
  try {
    if (fe::detail::create_handle(&made->handle) != CUDNN_STATUS_SUCCESS) {
      say(error, size, "cuDNN gives no handle");
      return nullptr;
    }
    const fe::DataType_t type = out == 0   ? fe::DataType_t::FP8_E4M3
                                : out == 1 ? fe::DataType_t::HALF
                                           : fe::DataType_t::BFLOAT16;
    const std::string why = build(*made, batch, heads, length, width, causal != 0, scale, type);
    if (why.empty()) return made.release();
    say(error, size, why);
  } catch (const std::exception& failure) {
    say(error, size, failure.what());
  }
  return nullptr;
}

// How many plans it can run by; one that could not be built fails.
std::int64_t plans(const void* attention) {
  return static_cast<const Attention*>(attention)->graph.get_execution_plan_count();
}

// Enough for every plan.
std::int64_t workspace_bytes(const void* attention) {
  return static_cast<const Attention*>(attention)->workspace_bytes;
}

// `pointers`: q, k, v, descale_q, descale_k, descale_v, descale_s, scale_s, scale_o, o, amax_s, amax_o. 0: done.
int run_attention(void* attention, std::int64_t plan, void** pointers, void* workspace, void* stream) {
  Attention& made = *static_cast<Attention*>(attention);
  std::unordered_map<std::shared_ptr<fe::graph::Tensor_attributes>, void*> pack;
  for (std::size_t i = 0; i < made.tensors.size(); ++i) pack[made.tensors[i]] = pointers[i];
  if (fe::detail::set_stream(made.handle, static_cast<cudaStream_t>(stream)) != CUDNN_STATUS_SUCCESS) return 1;
  return made.graph.execute_plan_at_index(made.handle, pack, workspace, plan).is_good() ? 0 : 2;
}

}  // extern "C"
