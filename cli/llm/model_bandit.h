#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace evo::cli {

/// Decides which of several models is asked next, by the upper confidence bound of its success (UCB1, Auer et al.
/// 2002). Each candidate, refusal and unusable answer of a model is a draw, which brought one of the best kernels or
/// did not. Deterministic.
class ModelBandit {
 public:
  explicit ModelBandit(const std::vector<std::string>& models);

  /// Each model once, then the most promising. Empty: there is none left.
  std::string next() const;
  void asked(const std::string& model);
  void tell(const std::string& model, bool brought);
  /// The model is not asked any more.
  void drop(const std::string& model);

 private:
  struct Arm {
    std::string model;
    std::size_t asked = 0;
    double brought = 0;
    double draws = 0;
  };
  Arm* find(const std::string& model);

  std::vector<Arm> arms_;
};

}  // namespace evo::cli
