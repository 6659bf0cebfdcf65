#include "engine/source/kernel_functions.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/base/comments.h"
#include "engine/base/text.h"

namespace evo {
namespace {

/// Words of a declaration that have brackets of their own: __launch_bounds__(256, 2).
constexpr std::string_view kBracketed[] = {"__launch_bounds__", "__cluster_dims__", "__block_size__", "__maxnreg__",
                                           "__attribute__",     "__align__",        "alignas"};

struct Declared {
  std::string name;
  std::size_t end = 0;  ///< Of the character after the name: '(', '[', '=', '{', ';', or the end of the source.
};

/// What the declaration from `at` on declares.
Declared declaration(const std::string& source, std::size_t at) {
  std::string word;
  int depth = 0;
  for (std::size_t i = at; i < source.size(); ++i) {
    const char c = source[i];
    if (depth == 0 && is_identifier_character(c)) {
      if (i == 0 || !is_identifier_character(source[i - 1])) word.clear();
      word += c;
    } else if (depth == 0 && std::string_view("[={;").find(c) != std::string_view::npos) {
      return {word, i};
    } else if (c == '(' && depth++ == 0 && std::ranges::find(kBracketed, word) == std::end(kBracketed)) {
      return {word, i};
    } else if (c == ')') {
      --depth;
    }
  }
  return {"", source.size()};
}

/// The first character after a declaration of which `at` is a part: after its ';' or the '}' of its body.
std::size_t after_declaration(const std::string& source, std::size_t at) {
  int depth = 0;
  for (; at < source.size(); ++at) {
    const char c = source[at];
    if (c == '{' || c == '(') ++depth;
    if (c == '}' || c == ')') --depth;
    if (depth <= 0 && (c == ';' || c == '}')) return at + 1;
  }
  return at;
}

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (is_identifier(name) && std::ranges::find(names, name) == names.end()) names.push_back(name);
}

std::vector<Declared> global_functions(const std::string& source) {
  constexpr std::string_view kGlobal = "__global__";
  std::vector<Declared> found;
  for (std::size_t at = source.find(kGlobal); at != std::string::npos; at = source.find(kGlobal, at + 1)) {
    Declared declared = declaration(source, at + kGlobal.size());
    if (declared.end < source.size() && source[declared.end] == '(') found.push_back(std::move(declared));
  }
  return found;
}

std::string plain_code(const std::string& source) {
  std::string code;
  bool in_comment = false;
  for (const std::string& line : split(source, '\n')) {
    const std::string plain = without_comments(line, in_comment);
    code += (trim(plain).starts_with('#') ? "" : plain) + "\n";
  }
  return code;
}

}  // namespace

std::vector<std::string> kernel_functions(const std::string& source) {
  std::vector<std::string> names;
  for (const Declared& declared : global_functions(source)) add_name(names, declared.name);
  return names;
}

std::optional<std::size_t> parameter_count(const std::string& source, const std::string& kernel) {
  const std::string code = plain_code(source);
  const std::vector<Declared> all = global_functions(code);
  const auto found = std::ranges::find(all, kernel, &Declared::name);
  if (found == all.end()) return std::nullopt;
  std::size_t close = found->end;
  for (int depth = 0; close < code.size(); ++close) {
    if (code[close] == '(') ++depth;
    if (code[close] == ')' && --depth == 0) break;
  }
  const std::string_view list = trim(std::string_view(code).substr(found->end + 1, close - found->end - 1));
  return list.empty() || list == "void" ? 0 : split_outside_brackets(list, ",").size();
}

std::vector<std::string> kernel_templates(const std::string& source) {
  constexpr std::string_view kTemplate = "template";
  const std::string code = plain_code(source);
  std::vector<std::string> found;
  for (std::size_t at = code.find(kTemplate); at != std::string::npos; at = code.find(kTemplate, at + 1)) {
    const std::size_t open = code.find_first_not_of(" \t\r\n", at + kTemplate.size());
    if (open == std::string::npos || code[open] != '<') continue;
    std::size_t close = open;
    for (int depth = 0; close < code.size(); ++close) {
      if (code[close] == '<') ++depth;
      if (code[close] == '>' && --depth == 0) break;
    }
    if (close == code.size()) break;
    const std::size_t global = code.find("__global__", close);
    if (global == std::string::npos || code.find_first_of("{};", close) < global) continue;
    const std::string name = declaration(code, global + std::string_view("__global__").size()).name;
    std::string arguments;
    for (const std::string_view parameter :
         split_outside_brackets(std::string_view(code).substr(open + 1, close - open - 1), ",")) {
      const std::string_view kind = parameter.substr(0, parameter.find_first_of(" \t="));
      const bool type = kind.starts_with("typename") || kind.starts_with("class");
      arguments += arguments.empty() ? "" : ", ";
      arguments += type ? "float" : kind == "bool" ? "true" : "64";
    }
    if (is_identifier(name)) found.push_back(name + "<" + arguments + ">");
  }
  return found;
}

std::vector<std::string> c_names(const std::string& source) {
  constexpr std::string_view kExternC = "extern \"C\"";
  if (source.find(kExternC) == std::string::npos) return {};
  std::vector<std::string> names = kernel_functions(source);
  const std::string code = plain_code(source);
  const auto next_word = [&](std::size_t at) { return std::min(code.find_first_not_of(" \t\r\n", at), code.size()); };
  for (std::size_t at = code.find(kExternC); at != std::string::npos; at = code.find(kExternC, at + 1)) {
    std::size_t place = next_word(at + kExternC.size());
    if (place == code.size()) break;
    if (code[place] != '{') {
      add_name(names, declaration(code, place).name);
      continue;
    }
    for (place = next_word(place + 1); place < code.size() && code[place] != '}'; place = next_word(place)) {
      const Declared declared = declaration(code, place);
      add_name(names, declared.name);
      place = after_declaration(code, declared.end);
    }
  }
  return names;
}

}  // namespace evo
