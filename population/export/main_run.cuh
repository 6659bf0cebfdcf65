// A limit as it is printed.
inline double limit_of(double limit) { return limit == 0 ? INFINITY : limit; }

// Compares every output with the reference's. `when` says at which point of the program.
inline bool right(const std::vector<Tensor>& tensors, const Buffers& buffers, ${equal ? 'const std::vector<Bytes>& elements, ' : ''}const std::vector<Bytes>& wanted, const char* when) {
  bool all = true;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    if (!tensor.output) continue;
    const Limits& limits = tensor.limits;
    bool untouched = true;
    Bytes got = download(buffers[i], tensor, tensor.dtype, &untouched);
//% if equal
    const size_t among = static_cast<size_t>(std::max(tensor.any_of_equal, 0));
    if (tensor.any_of_equal >= 0) accept_equal(tensor, tensors[among], elements[among], wanted[i], got);
//% end
//% if scaled_outputs
    const size_t scale = static_cast<size_t>(std::max(tensor.scale, 0));
    const Tensor& scales = tensors[scale];
    const Bytes scale_elements = tensor.scale < 0 ? Bytes() : download(buffers[scale], scales, scales.dtype);
    const Groups groups(tensor, scales);
//% if zero_points
    const Tensor& zeros = tensors[static_cast<size_t>(std::max(tensor.zero_point, 0))];
    const Bytes zero_elements = tensor.zero_point < 0 ? Bytes() : download(buffers[static_cast<size_t>(tensor.zero_point)], zeros, zeros.dtype);
//% end
    const auto at = [&](size_t element) {
      ${zero_points ? '' : 'const '}double code = load_at(tensor.dtype, got, element);
      if (tensor.scale < 0) return code;
      const size_t group = static_cast<size_t>(groups.of(static_cast<long long>(element)));
//% if zero_points
      if (tensor.zero_point >= 0) code -= load_at(zeros.dtype, zero_elements, group);
//% end
      return static_cast<double>(static_cast<float>(code * load_at(scales.dtype, scale_elements, group)));
    };
//% else
    const auto at = [&](size_t element) { return load_at(tensor.dtype, got, element); };
//% end
    const Difference d = compare(tensor, got, wanted[i], at);
    const bool ok = untouched && within_limits(d, limits);
    const char* judgement = ok           ? "right"
                            : !d.finite  ? "WRONG (not finite where the reference is, or the reverse)"
                            : !untouched ? "WRONG (written between its rows)"
                                         : "WRONG";
    if (limits.exact) {
      std::printf("  %-6s %-12s %lld of %lld elements differ: %s\n", tensor.name, when, d.unequal, count(tensor), judgement);
    } else {
      std::printf("  %-6s %-12s relative L2 error %.3e (limit %.1e), of a row %.3e (limit %.1e), cosine %.6f, max error %.3f of rms",
                  tensor.name, when, d.relative_l2, limit_of(limits.relative_l2), d.row_l2, limit_of(limits.row_l2), d.cosine, d.max_abs);
      if (limits.atol > 0 || limits.rtol > 0) std::printf(", %lld elements beyond %.1e + %.1e |want|", d.beyond, limits.atol, limits.rtol);
      std::printf(": %s\n", judgement);
    }
    all = all && ok;
  }
  return all;
}

// Medians and percentiles of one call in a graph of 20, of which the GPU has run 100 ms before: where the power limit lowers
// its clocks under load, it has done so by then.
inline void time_calls(const Buffers& buffers, void* workspace, const long long* p) {
  const int calls = 20, replays = 101;
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (int i = 0; i < calls; ++i) check(call(buffers.addresses(), workspace, p, stream), "${launcher} in a graph");
  cudaGraph_t graph;
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  cudaGraphExec_t executable;
  check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  const auto warm = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  do {
    check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    check(cudaDeviceSynchronize(), "${launcher} in a graph");
  } while (std::chrono::steady_clock::now() < warm);
  std::vector<double> us;
  for (int i = 0; i < replays; ++i) {
    check(cudaEventRecord(begin, stream), "cudaEventRecord");
    check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    check(cudaEventRecord(end, stream), "cudaEventRecord");
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    us.push_back(1000.0 * ms / calls);
  }
  std::sort(us.begin(), us.end());
  const double median = us[us.size() / 2];
  std::printf("  warm latency %.2f us (5 %% to 95 %%: %.2f to %.2f us)", median, us[us.size() / 20], us[us.size() * 19 / 20]);
  if (flops(p) > 0) std::printf(", %.2f TFLOP/s", flops(p) / median * 1e-6);
  std::printf("\n");
  for (const Claim& claim : claims) {
    if (std::equal(p, p + ${rank}, claim.parameters)) {
      std::printf("  claimed      %.2f us (%s, %s)\n", claim.us, claim.shape, ${claimant});
    }
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

// A buffer between two strips that nothing may write to.
class Guarded {
 public:
  Guarded(Buffers& buffers, size_t bytes) : bytes_(bytes), begin_(static_cast<unsigned char*>(buffers.add(bytes + 2 * kStrip))) {}
  void* address() const { return begin_ + kStrip; }
  bool untouched() const {
    Bytes strips(2 * kStrip);
    check(cudaMemcpy(strips.data(), begin_, kStrip, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check(cudaMemcpy(strips.data() + kStrip, begin_ + kStrip + bytes_, kStrip, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return std::all_of(strips.begin(), strips.end(), [](unsigned char byte) { return byte == 0xff; });
  }

 private:
  static constexpr size_t kStrip = 4096;
  size_t bytes_;
  unsigned char* begin_;
};

// What the launcher must refuse, with cudaErrorInvalidValue and without any other effect: sizes that are not positive or
// not supported, and addresses that are null or not aligned.
class Refusals {
 public:
  Refusals(const std::vector<Tensor>& tensors, const Buffers& buffers, void* workspace, const long long* p)
      : addresses_(buffers.addresses()), workspace_(workspace), p_(p, p + ${rank}) {
    const size_t needed = workspace_bytes(p);
    for (size_t k = 0; k < ${rank}; ++k) {
      for (const long long size : {0LL, -1LL, p[k] - 1, p[k] + 1, 2 * p[k], 2147483647LL}) refuses_size(k, size);
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      refuses_address(tensors[i].name, addresses_[i], nullptr, " = null");
      refuses_address(tensors[i].name, addresses_[i], static_cast<char*>(addresses_[i]) + ${alignment / 2}, " ${alignment / 2} bytes further");
    }
    if (needed > 0) {
      refuses_address("workspace", workspace_, nullptr, " = null");
      refuses_address("workspace", workspace_, static_cast<char*>(workspace_) + 16, " 16 bytes further");
    }
    const cudaError_t ended = cudaDeviceSynchronize(), last = cudaGetLastError();
    if (ended != cudaSuccess || last != cudaSuccess) note(std::string("a call that left an error: ") + cudaGetErrorString(ended != cudaSuccess ? ended : last));
  }

  bool right() const {
    std::printf("  refusals     %d calls that must be refused: %s\n", calls_, wrong_.empty() ? "right" : ("WRONG, accepted " + wrong_).c_str());
    return wrong_.empty();
  }

 private:
  void refuses_size(size_t k, long long size) {
    const long long kept = p_[k];
    p_[k] = size;
    if (size < 1 || !supported(p_.data())) {
      refuses(parameter_names[k] + "=" + std::to_string(size));
      if (workspace_bytes(p_.data()) != 0) note("a workspace for " + parameter_names[k] + "=" + std::to_string(size));
    }
    p_[k] = kept;
  }

  void refuses_address(const std::string& name, void*& place, void* address, const std::string& what) {
    void* const kept = place;
    place = address;
    refuses(name + what);
    place = kept;
  }

  void refuses(const std::string& what) {
    ++calls_;
    if (call(addresses_, workspace_, p_.data(), nullptr) != cudaErrorInvalidValue) note(what);
  }

  void note(const std::string& accepted) {
    if (wrong_.empty()) wrong_ = accepted;
  }

  std::vector<void*> addresses_;
  void* workspace_;
  std::vector<long long> p_;
  int calls_ = 0;
  std::string wrong_;
};

// "1,8,512,64" or "B=1,S=77"; what is not named keeps its value.
inline bool parse(const char* text, long long* p) {
  int position = 0;
  for (const char* at = text; *at != 0; ++position) {
    const char* equals = std::strchr(at, '=');
    const char* comma = std::strchr(at, ',');
    int index = position;
    if (equals != nullptr && (comma == nullptr || equals < comma)) {
      const std::string name(at, equals);
      index = static_cast<int>(std::find(parameter_names, parameter_names + ${rank}, name) - parameter_names);
      at = equals + 1;
    }
    if (index >= ${rank}) return false;
    char* stop = nullptr;
    p[index] = std::strtoll(at, &stop, 10);
    if (stop == at || (*stop != 0 && *stop != ',') || p[index] < 1 || p[index] > 2147483647LL) return false;
    at = *stop == ',' ? stop + 1 : stop;
  }
  return true;
}

// Whether a call is right whose tensors begin no more than ${alignment} bytes behind a multiple of 256, as views do.
inline bool right_for_views(const std::vector<Tensor>& tensors, const std::vector<Bytes>& elements, void* workspace, const long long* p, const std::vector<Bytes>& wanted) {
  Buffers views(${alignment});
  for (size_t i = 0; i < tensors.size(); ++i) {
    views.add(bytes_for(tensors[i].dtype, extent(tensors[i])));
    if (!tensors[i].output${inout ? ' || tensors[i].inout' : ''}) upload(views[i], tensors[i], tensors[i].dtype, elements[i]);
  }
  check(call(views.addresses(), workspace, p, nullptr), "${launcher} of views");
  check(cudaDeviceSynchronize(), "${launcher} of views");
  return right(tensors, views, ${equal ? 'elements, ' : ''}wanted, "of views");
}

inline int run(const long long* p, bool timed) {
  const std::vector<Tensor> tensors = tensors_of(p);
  std::vector<Bytes> elements;
  for (const Tensor& tensor : tensors) elements.emplace_back(bytes_for(tensor.dtype, count(tensor)));
  Buffers buffers, oracle;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if ((!tensors[i].output || tensors[i].inout) && !tensors[i].computed) draw(tensors, i, elements);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    buffers.add(bytes_for(tensor.dtype, extent(tensor)));
    oracle.add(tensor.output ? bytes_for(tensor.wanted, extent(tensor)) : 0);
    if (!tensor.output) upload(buffers[i], tensor, tensor.dtype, elements[i]);
  }
//% if inout
  restore_wanted(tensors, oracle, elements);
//% end
  check(reference(buffers, oracle, p), "reference");
  check(cudaDeviceSynchronize(), "reference");
  std::vector<Bytes> wanted(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].output) wanted[i] = download(oracle[i], tensors[i], tensors[i].wanted);
  }

  const Guarded guarded(buffers, workspace_bytes(p));
  void* const workspace = guarded.address();
//% if inout
  restore(tensors, buffers, elements);
//% end
  check(call(buffers.addresses(), workspace, p, nullptr), "${launcher}");
  check(cudaDeviceSynchronize(), "${launcher}");
  if (!right(tensors, buffers, ${equal ? 'elements, ' : ''}wanted, "first call")) return 1;
  if (!right_for_views(tensors, elements, workspace, p, wanted)) return 1;
  if (!guarded.untouched()) return std::printf("  workspace    WRONG (written beyond its %zu bytes)\n", workspace_bytes(p)), 1;
  if (!Refusals(tensors, buffers, workspace, p).right()) return 1;
  if (!timed) return 0;
  time_calls(buffers, workspace, p);
//% if inout
  restore(tensors, buffers, elements);
  check(call(buffers.addresses(), workspace, p, nullptr), "${launcher}");
  check(cudaDeviceSynchronize(), "${launcher}");
//% end
  return right(tensors, buffers, ${equal ? 'elements, ' : ''}wanted, "after timing") ? 0 : 1;
}

}  // namespace ${main}

int main(int argc, char** argv) {
  using namespace ${main};
  long long shapes[][${rank}] = {${default_shapes}};
  size_t count = sizeof shapes / sizeof shapes[0];
  // "check" last: one call, not timed. What compute-sanitizer needs, which makes each launch many times slower.
  const bool timed = argc < 2 || std::strcmp(argv[argc - 1], "check") != 0;
  const int given = argc - 1 - (timed ? 0 : 1);
  if (given > 1 || (given == 1 && !parse(argv[1], shapes[0])) || !supported(shapes[0])) {
    std::fprintf(stderr, "usage: %s [${usage}] [check]${supported}\n", argv[0]);
    return 2;
  }
  if (given == 1) count = 1;
  cudaDeviceProp device;
  check(cudaGetDeviceProperties(&device, 0), "no GPU");
  int code = 0;
  for (size_t i = 0; i < count; ++i) {
    const long long* p = shapes[i];
    std::printf("${task}");
    for (int k = 0; k < ${rank}; ++k) std::printf(" %s=%lld", parameter_names[k].c_str(), p[k]);
//% if choosing
  std::printf(" kernel %d", ${launcher}_kernel(${numbered_sizes}));
//% end
    std::printf(" on %s\n", device.name);
    if (run(p, timed) != 0) code = 1;
  }
  return code;
}
#endif  // EVO_MAIN
