#pragma once

#include <stdexcept>
#include <string>

namespace evo {

/// Who has to act on an error; main maps it to the exit code.
enum class Fault {
  usage,    ///< The user's input is wrong (exit code 2).
  machine,  ///< Something is missing or failing on this machine (exit code 3).
};

/// A fault of the user or the machine, in one line: what is wrong, where, and what to do about it. A fault of a
/// *candidate* is never an Error but a Verdict (engine/result/verdict.h). Line breaks and other control characters in
/// quoted input become blanks.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& message) : std::runtime_error(one_line(message)), fault_(fault) {}
  Fault fault() const { return fault_; }

 private:
  static std::string one_line(std::string message) {
    for (char& c : message) {
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
    }
    return message;
  }

  Fault fault_;
};

inline Error usage_error(const std::string& message) {
  return Error(Fault::usage, message);
}
inline Error machine_error(const std::string& message) {
  return Error(Fault::machine, message);
}

}  // namespace evo
