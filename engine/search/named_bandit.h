#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace evo {

/// Decides which of several sources of candidates, such as language models or operators, is asked next: by the upper
/// confidence bound of its success (UCB1, Auer et al. 2002). Each draw of a source, a candidate or a failure to give
/// one, brought something or did not. Deterministic.
class NamedBandit {
 public:
  explicit NamedBandit(const std::vector<std::string>& names);

  /// Each one once, then the most promising. Empty: there is none left.
  std::string next() const;
  void asked(const std::string& name);
  void tell(const std::string& name, bool brought);
  /// It is not asked any more.
  void drop(const std::string& name);

 private:
  struct Arm {
    std::string name;
    std::size_t asked = 0;
    double brought = 0;
    double draws = 0;
  };
  Arm* find(const std::string& name);

  std::vector<Arm> arms_;
};

}  // namespace evo
