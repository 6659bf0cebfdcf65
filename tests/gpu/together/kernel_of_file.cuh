// Makes a together::Kernel of an exported file, which is included ahead of this with EVO_MAIN: its own program draws the
// inputs and has the reference. SELF is the namespace of that program, MAKE the function that makes the kernel.
#include "kernel.h"

namespace SELF {

/// Inputs, outputs and workspace on the current device.
class KernelProblem : public together::Problem {
 public:
  KernelProblem(const long long* p, const std::vector<Tensor>& tensors, const std::vector<Bytes>& elements, const std::vector<Bytes>& answer)
      : p_(p), tensors_(tensors), answer_(answer) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      buffers_.add(bytes_for(tensors[i].dtype, extent(tensors[i])));
      if (!tensors[i].output) upload(buffers_[i], tensors[i], tensors[i].dtype, elements[i]);
    }
    workspace_ = buffers_.add(workspace_bytes(p));
  }

  cudaError_t call(cudaStream_t stream) override {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (!tensors_[i].output) continue;
      const cudaError_t error = cudaMemsetAsync(buffers_[i], 0xff, bytes_for(tensors_[i].dtype, extent(tensors_[i])), stream);
      if (error != cudaSuccess) return error;
    }
    return SELF::call(buffers_.addresses(), workspace_, p_, stream);
  }

  bool same() const override { return outputs() == answer_; }

  std::vector<Bytes> outputs() const {
    std::vector<Bytes> all;
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (tensors_[i].output) all.push_back(download(buffers_[i], tensors_[i], tensors_[i].dtype));
    return all;
  }

  const Buffers& buffers() const { return buffers_; }

 private:
  const long long* p_;
  const std::vector<Tensor>& tensors_;
  const std::vector<Bytes>& answer_;
  Buffers buffers_;
  void* workspace_;
};

class KernelOfFile : public together::Kernel {
 public:
  KernelOfFile(const char* shape, const long long* p) : name_(shape), p_(p, p + sizeof parameter_names / sizeof parameter_names[0]), tensors_(tensors_of(p)) {
    for (const Tensor& tensor : tensors_) elements_.emplace_back(bytes_for(tensor.dtype, count(tensor)));
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (!tensors_[i].output && !tensors_[i].computed) draw(tensors_, i, elements_);
  }

  std::string name() const override { return name_; }

  bool right() override {
    KernelProblem problem(p_.data(), tensors_, elements_, answer_);
    Buffers oracle;
    for (const Tensor& tensor : tensors_) oracle.add(tensor.output ? bytes_for(tensor.wanted, extent(tensor)) : 0);
    check(reference(problem.buffers(), oracle, p_.data()), "reference");
    check(cudaDeviceSynchronize(), "reference");
    std::vector<Bytes> wanted(tensors_.size());
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (tensors_[i].output) wanted[i] = download(oracle[i], tensors_[i], tensors_[i].wanted);
    check(problem.call(nullptr), "the launcher");
    check(cudaDeviceSynchronize(), "the launcher");
    answer_ = problem.outputs();
    return SELF::right(tensors_, problem.buffers(), wanted, name_.c_str());
  }

  std::unique_ptr<together::Problem> problem() const override {
    return std::make_unique<KernelProblem>(p_.data(), tensors_, elements_, answer_);
  }

 private:
  std::string name_;
  std::vector<long long> p_;
  std::vector<Tensor> tensors_;
  std::vector<Bytes> elements_, answer_;
};

}  // namespace SELF

extern "C" together::Kernel* MAKE(const char* shape) {
  long long p[sizeof SELF::parameter_names / sizeof SELF::parameter_names[0]] = {};
  if (!SELF::parse(shape, p) || !SELF::supported(p)) return nullptr;
  return new SELF::KernelOfFile(shape, p);
}
