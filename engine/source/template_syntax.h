#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/expression/expression.h"
#include "engine/source/text_template.h"

/// A template file as a tree of statements (docs/templates.md).
namespace evo::template_syntax {

/// A line of a template file.
struct Place {
  const std::string* file = nullptr;
  std::size_t line = 0;
};

/// Throws usage_error "FILE:LINE: reason".
[[noreturn]] void fail(const Place& place, const std::string& reason);

struct Statement;
using Block = std::vector<Statement>;

/// A line that is no directive, without its end.
struct Text {
  TextTemplate line;
};
struct If {
  std::vector<std::pair<Expression, Block>> branches;  ///< else: the condition `true`
};
struct For {
  std::string variable;
  Expression from;
  Expression to;
  Block body;
};
/// Lines of a diagnosis: absent otherwise.
struct Probe {
  Block body;
};
/// `name = value`, or a name alone.
struct Argument {
  std::string name;
  std::optional<Expression> value;
};
struct Let {
  std::vector<Argument> definitions;  ///< All have values.
};
struct Include {
  std::string path;
  std::vector<Argument> arguments;  ///< A name alone: the value that it has here.
};
struct Slot {
  std::string gene;
  std::vector<Argument> arguments;
};
/// #include "PATH" of CUDA's own.
struct Quoted {
  std::string path;
  Text line;
};

struct Statement {
  Place place;
  std::variant<Text, If, For, Probe, Let, Include, Slot, Quoted> what;
};

/// What a file declares that it takes.
struct Takes {
  Place place;
  std::vector<Argument> parameters;  ///< Values: of those that need not be passed.
};

struct File {
  std::optional<Takes> takes;
  Block block;
};

/// A directive line: its first word and what follows. Empty for other lines.
struct Directive {
  std::string_view word;
  std::string_view rest;
};
std::optional<Directive> directive_of(std::string_view line);

/// The path in quotes that an include directive's `rest` begins with; empty where there is none.
std::string_view quoted_path(std::string_view rest);

/// `path` is kept by reference: it is the file of all places. Throws usage_error "FILE:LINE: reason".
File parse_file(const std::string& path, std::string_view source);

}  // namespace evo::template_syntax
