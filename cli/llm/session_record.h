#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/llm/chat.h"
#include "cli/llm/llm_options.h"

namespace evo::cli {

/// A file with all that a session of a language model depends on: a JSON object a line. First the options, then, in
/// the order in which they came, the lines of the search, what they were answered, and the server's replies. No key is
/// in it: the replies have none, and nothing else knows one.
class SessionRecorder {
 public:
  /// Adds to the file; without a name it keeps nothing. When it cannot be written, a line says so, once.
  explicit SessionRecorder(const LlmOptions& options);

  void line(double at, const nlohmann::ordered_json& line);
  void answered(double at, const nlohmann::ordered_json& answer);
  void reply(double at, double seconds, const ChatReply& reply);

 private:
  void write(const nlohmann::ordered_json& entry);

  std::ofstream file_;
  std::string name_;
};

/// Throws usage_error when there is such a file already, and machine_error when it cannot be made.
void require_new_record(const std::string& file);

/// Repeats a recorded session without a server, and prints what was asked and what came of it. Returns an exit code:
/// that of a failed check where the session answers something else than it did. Throws usage_error for another file.
int replay_session(const std::filesystem::path& file);

}  // namespace evo::cli
