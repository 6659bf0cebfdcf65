#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace evo::cli {

/// Completions of the last word of an unfinished command line.
struct Completion {
  struct Candidate {
    std::string value;
    std::string about;  ///< One line; may be empty.
  };
  enum class Paths { none, files, folders };

  std::vector<Candidate> candidates;
  Paths paths = Paths::none;  ///< Whether the shell is to offer names of files, too.
};

/// Completes the last of `words`, which stand after "evo"; it may be empty. Everything comes from the parser: commands,
/// options, and what an option takes by its type name. "a|b" are these values, TASK and DEVICE are asked for, FILE and
/// DIR are the shell's, and "DEVICE,..." is a list. Of "--option=word" only what may stand after the '=' is returned.
Completion complete(const CLI::App& app, const std::vector<std::string>& words);

/// As the scripts of the shells read it: a line "words", "files" or "folders", then each candidate as VALUE TAB ABOUT.
std::string completion_lines(const Completion& completion);

/// "bash", "zsh", "fish".
std::vector<std::string> shell_names();
/// The script that makes a shell complete evo's commands. Throws usage_error for another shell.
std::string completion_script(const std::string& shell);

}  // namespace evo::cli
