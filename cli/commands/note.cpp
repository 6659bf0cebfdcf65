#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"

namespace evo::cli {
namespace {

constexpr std::size_t kLongestPersonsNote = 4096;  // bytes

struct NoteRequest {
  std::string id;
  std::string text;
  std::string database = kDefaultDatabase;
};

std::string without_blanks_around(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

int note(const NoteRequest& request) {
  const CandidateId id = parse_id("candidate", request.id);
  const std::string text = without_blanks_around(request.text);
  if (text.empty()) throw usage_error("the note is empty: evo note ID \"what you learned of this candidate\"");
  if (text.size() > kLongestPersonsNote)
    throw usage_error(fmt::format("the note has {} bytes: at most {}", text.size(), kLongestPersonsNote));
  Store::open(request.database, Store::Mode::change).add_note(id, text);
  print("noted; evo show {} prints it, later runs of the task give it to proposers\n", id);
  return kDone;
}

}  // namespace

void add_note(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(
      app, invocation, "note", "Note what you learned about a candidate; show, report and proposers use it", note);
  add_option(command, "ID", "", request.id, "The candidate's number")->required();
  add_option(command, "TEXT", "", request.text, "The note, in quotes")->required();
  add_database_option(command, request.database);
}

}  // namespace evo::cli
