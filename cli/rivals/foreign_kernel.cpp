#include "cli/rivals/foreign_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>

#include "cli/subject/lookup.h"
#include "cli/text/files.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/task/candidate.h"
#include "engine/task/family.h"
#include "evaluator/base/random.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

constexpr std::uintmax_t kLongestKernelFile = 1 << 20;  // bytes

// ---- Device code

/// Where a comment, text or character that begins at `at` ends; `at` where none begins.
std::size_t end_of_text(const std::string& code, std::size_t at) {
  const auto behind = [&](std::string_view end, std::size_t from) {
    const std::size_t found = code.find(end, from);
    return found == std::string::npos ? code.size() : found + end.size();
  };
  if (code.compare(at, 2, "//") == 0) return std::min(code.find('\n', at), code.size());
  if (code.compare(at, 2, "/*") == 0) return behind("*/", at + 2);
  // A ' between digits separates them.
  if (code[at] != '"' && (code[at] != '\'' || (at > 0 && std::isalnum(static_cast<unsigned char>(code[at - 1])) != 0)))
    return at;
  std::size_t end = at + 1;
  while (end < code.size() && code[end] != code[at] && code[end] != '\n') end += code[end] == '\\' ? 2 : 1;
  return std::min(end + 1, code.size());
}

/// Where the preprocessor's line that begins at `at` ends, with the lines that continue it.
std::size_t end_of_directive(const std::string& code, std::size_t at) {
  std::size_t end = code.find('\n', at);
  while (end != std::string::npos && end > 0 && code[end - 1] == '\\') end = code.find('\n', end + 1);
  return std::min(end, code.size());
}

std::string without_comments_and_texts(const std::string& code) {
  std::string rest;
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t end = end_of_text(code, at);
    if (end == at) rest += code[at++];
    at = std::max(at, end);
  }
  return rest;
}

/// Whether a declaration or function is none of the device.
bool is_for_host(const std::string& part) {
  static const std::regex kHostWords(
      R"(<<<|\b(torch|at|c10|py|pybind11)::|\bPYBIND11_MODULE\b|\bTORCH_LIBRARY|\bcuda(Stream|Error|Event)_t\b)"
      R"(|\bcuda[A-Z]\w*\s*\(|\bstd::(vector|string|cout|cerr|runtime_error)\b)");
  const std::string code = without_comments_and_texts(part);
  for (const char* word : {"__global__", "__device__"})
    if (code.find(word) != std::string::npos) return false;
  return std::regex_search(code, kHostWords);
}

/// A header that device code may need, and that the compiler finds.
bool is_for_device(const std::string& directive) {
  static const std::regex kInclude(R"(^\s*#\s*include\b)");
  static const std::regex kKept(
      R"(["<](cuda_fp16|cuda_bf16|cuda_fp8|cuda_fp6|cuda_fp4|mma|cooperative_groups|math_constants)\.h[">])");
  return !std::regex_search(directive, kInclude) || std::regex_search(directive, kKept);
}

/// Goes through the parts of a file outside of functions: declarations, functions, the preprocessor's lines. Namespaces
/// and extern "C" { } are entered.
class PartReader {
 public:
  explicit PartReader(const std::string& code) : code_(code) {}

  std::string device_parts() {
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t at = 0; at < code_.size();) {
      const char c = code_[at];
      if (const std::size_t end = end_of_text(code_, at); end != at) {
        at = end;
      } else if (c == '#' && depth == 0 && starts_line(at)) {
        take(begin, at);
        begin = end_of_directive(code_, at);
        take_directive(at, begin);
        at = begin;
      } else if (c == '{' && depth == 0 && is_entered(begin, at)) {
        append(begin, ++at);
        begin = at;
      } else if (c == '{') {
        ++depth;
        ++at;
      } else if (c == '}' && depth == 0) {  // Of what was entered.
        take(begin, at);
        append(at, at + 1);
        begin = ++at;
      } else if (c == '}') {
        --depth;
        ++at;
        if (depth > 0 || continues(at)) continue;
        take(begin, at);
        begin = at;
      } else if (c == ';' && depth == 0) {
        take(begin, ++at);
        begin = at;
      } else {
        ++at;
      }
    }
    take(begin, code_.size());
    return std::move(result_);
  }

 private:
  bool starts_line(std::size_t at) const {
    const std::size_t before = code_.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
    return at == 0 || before == std::string::npos || code_[before] == '\n';
  }

  bool is_entered(std::size_t begin, std::size_t brace) const {
    static const std::regex kEntered(R"((^|\s)(namespace(\s+[\w:]+)?|extern\s*"C")\s*$)");
    const std::string head = code_.substr(begin, brace - begin);
    return std::regex_search(head, kEntered);
  }

  /// Whether a declaration goes on behind its brace, as that of a struct does up to its semicolon.
  bool continues(std::size_t at) const {
    const std::size_t next = code_.find_first_not_of(" \t\r\n", at);
    return next != std::string::npos && (code_[next] == ';' || code_[next] == '=');
  }

  void append(std::size_t begin, std::size_t end) { result_ += code_.substr(begin, end - begin); }
  /// What is not kept leaves its ends of lines.
  void keep(std::size_t begin, std::size_t end, bool wanted) {
    for (std::size_t at = begin; at < end; ++at)
      if (wanted || code_[at] == '\n') result_ += code_[at];
  }

  void take(std::size_t begin, std::size_t end) { keep(begin, end, !is_for_host(code_.substr(begin, end - begin))); }
  void take_directive(std::size_t begin, std::size_t end) {
    keep(begin, end, is_for_device(code_.substr(begin, end - begin)));
  }

  const std::string& code_;
  std::string result_;
};

// ---- Launches

[[noreturn]] void refuse_launch(const std::string& launch, const std::string& why) {
  throw usage_error(fmt::format(
      "--launch '{}': {}; it is written as KERNEL<<<GRID, BLOCK, SHARED_BYTES>>>(ARGUMENTS), the third may be left out",
      launch, why));
}

std::vector<std::string> items_of(std::string_view text) {
  std::vector<std::string> items;
  if (trim(text).empty()) return items;
  for (const std::string_view item : split_outside_brackets(text, ",")) items.emplace_back(item);
  return items;
}

/// "N", "dim3(N, 2)" and "(N, 2)" as three expressions.
nlohmann::ordered_json three_dims(const std::string& text, const std::string& launch) {
  static const std::regex kDims(R"((dim3)?\s*\(([\s\S]*)\))");
  std::smatch found;
  std::vector<std::string> dims = {text};
  // (N + 1) / 2 ends with no bracket of its own; (N + 1) has one item either way.
  if (std::regex_match(text, found, kDims) && (found[1].matched || items_of(found[2].str()).size() > 1))
    dims = items_of(found[2].str());
  if (dims.empty() || dims.size() > 3) refuse_launch(launch, fmt::format("'{}' is not one to three sizes", text));
  dims.resize(3, "1");
  return dims;
}

nlohmann::ordered_json launch_json(const std::string& launch) {
  const std::size_t open = launch.find("<<<");
  const std::size_t close = open == std::string::npos ? open : launch.find(">>>", open);
  if (close == std::string::npos) refuse_launch(launch, "there is no <<< >>>");
  const std::string kernel = std::string(trim(std::string_view(launch).substr(0, open)));
  const std::string arguments = std::string(trim(std::string_view(launch).substr(close + 3)));
  if (kernel.empty()) refuse_launch(launch, "there is no kernel's name");
  if (!arguments.starts_with('(') || !arguments.ends_with(')')) refuse_launch(launch, "there are no (ARGUMENTS)");
  const std::vector<std::string> sizes = items_of(launch.substr(open + 3, close - open - 3));
  if (sizes.size() < 2 || sizes.size() > 3) refuse_launch(launch, "there are not two or three things in <<< >>>");
  return {{"kernel", kernel},
          {"grid", three_dims(sizes[0], launch)},
          {"block", three_dims(sizes[1], launch)},
          {"dynamic_smem", sizes.size() == 3 ? sizes[2] : "0"},
          {"arguments", items_of(arguments.substr(1, arguments.size() - 2))}};
}

constexpr const char* kForeignFamily = "solution";

/// A message about the family's files as one about the user's.
std::string in_users_words(std::string message, const ForeignKernel& kernel, const std::string& folder) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = message.find(from, at)) != std::string::npos; at += to.size())
      message.replace(at, from.size(), to);
  };
  replace(folder + "kernel.cu", kernel.file);
  for (std::size_t i = 0; i < kernel.launches.size(); ++i)
    replace(fmt::format("{}family.json: launches[{}].", folder, i), fmt::format("--launch '{}': ", kernel.launches[i]));
  return message;
}

Candidate foreign_candidate(const SourceTree& files, const Task& task, const Target& target, const DeviceInfo& device) {
  return make_candidate(files, task, load_families(files, task).front(), Genome{.family = kForeignFamily, .genes = {}},
                        target, facts_of(device.limits));
}

}  // namespace

std::string device_code(const std::string& text) {
  return PartReader(text).device_parts();
}

Evaluation evaluate_foreign_kernel(const ForeignKernel& kernel, const SourceTree& tree, const Task& task,
                                   const Target& target, const DeviceInfo& device) {
  const std::string code = device_code(read_file(kernel.file, kLongestKernelFile));
  if (code.find("${") != std::string::npos || code.find("//%") != std::string::npos)
    throw usage_error(fmt::format("{}: ${{ and //% are words of evo's templates: write them otherwise", kernel.file));
  nlohmann::ordered_json family = {{"summary", kernel.file}, {"genes", nlohmann::ordered_json::array()}};
  family["launches"] = list_json(kernel.launches, launch_json);

  // The task's own families are not needed, and one of them may have the name.
  SourceTree files;
  for (const auto& [path, text] : tree)
    if (!path.starts_with(task.name + "/") || std::count(path.begin(), path.end(), '/') == 1) files[path] = text;
  const std::string folder = fmt::format("{}/{}/", task.name, kForeignFamily);
  files[folder + "family.json"] = family.dump();
  files[folder + "kernel.cu"] = code;

  PipelineOptions options;
  options.task = task;
  options.tree = files;
  options.target = target;
  options.device = device;
  options.salt = fresh_salt();
  options.compile_workers = 1;
  options.dedup = false;
  try {
    const Candidate candidate = foreign_candidate(files, task, target, device);
    const std::unique_ptr<Evaluator> pipeline = make_pipeline(std::move(options));
    pipeline->submit(0, candidate);
    Evaluation found = pipeline->wait().evaluation;
    found.reason = in_users_words(found.reason, kernel, folder);
    return found;
  } catch (const Error& error) {
    throw Error(error.fault(), in_users_words(error.what(), kernel, folder));
  }
}

}  // namespace evo::cli
