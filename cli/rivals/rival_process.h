#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/proposer/line_process.h"

namespace evo::cli {

/// A command that answers for rivals (docs/baseline.md).
struct RivalCommand {
  std::string label;    ///< For messages: "torch_library".
  std::string command;  ///< For /bin/sh.
};

struct RivalProcessOptions {
  RivalCommand command;
  double deadline_s = 120;          ///< For each answer: compilations count.
  std::function<bool()> ends = {};  ///< As LineProcessOptions::ends.
  std::filesystem::path errors;     ///< The file that its standard error goes to.
};

/// One of the rivals of a command.
struct RivalOffer {
  std::string name, version, note;
};

/// The rival says that it cannot do this, in its words.
struct RivalRefusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a rival answers: a line of JSON, an object. Throws RivalRefusal with its error, LineFailure for other lines.
nlohmann::ordered_json read_rival_answer(const std::string& line);
/// Of an answer that lists rivals. Throws RivalRefusal where it says why it has none, LineFailure.
std::vector<RivalOffer> read_offers(const nlohmann::ordered_json& answer);
/// Of an answer that is a time, in microseconds. Throws LineFailure.
double read_time_us(const nlohmann::ordered_json& answer);

/// A process that computes and times what rivals do. It is started again after it was lost, and then prepares again
/// what it had prepared. Its methods throw RivalRefusal where it refuses, LineFailure and LineTimeout where it was
/// lost, and LineInterrupted.
class RivalProcess {
 public:
  /// `task`: the first message.
  RivalProcess(const RivalProcessOptions& options, const nlohmann::ordered_json& task);
  ~RivalProcess();

  const std::string& label() const { return label_; }
  /// Starts the process: several load their libraries at once.
  void begin();
  /// The rivals that it has for the task, after begin(). Throws RivalRefusal where it says why it has none.
  std::vector<RivalOffer> offers();
  /// Prepares a rival for a shape and has it write its outputs. `sets`: files of inputs and outputs.
  void run(const std::string& rival, const std::string& shape, const nlohmann::ordered_json& sets);
  /// The time of one call in microseconds, after run(). `turn_s`: of warm-up and timing together, whose mean is then
  /// asked for; 0: a short timing's median.
  double time_us(const std::string& rival, const std::string& shape, double turn_s);

 private:
  struct Known;  // what was asked for

  void prepare(const std::string& rival, const std::string& shape);
  nlohmann::ordered_json ask(const nlohmann::ordered_json& message);
  nlohmann::ordered_json receive();
  /// What a reader of answers gives; where it throws LineFailure the process is lost.
  template <typename Read>
  auto read(Read read, const nlohmann::ordered_json& answer);
  [[noreturn]] void lose(const LineFailure& failure);

  std::string label_;
  std::filesystem::path errors_;
  UniqueFd error_file_;
  LineProcess process_;
  std::unique_ptr<Known> known_;
};

}  // namespace evo::cli
