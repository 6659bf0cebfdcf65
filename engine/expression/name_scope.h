#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/expression/expression.h"
#include "engine/expression/json_place.h"

namespace evo {

/// The names that expressions at some place of a file may read. Other names are reported with their place in the file.
class NameScope {
 public:
  NameScope() = default;
  explicit NameScope(const std::vector<std::string>& names) : names_(names.begin(), names.end()) {}

  bool has(const std::string& name) const { return names_.contains(name); }
  void add(const std::string& name) { names_.insert(name); }
  void add(const std::vector<std::string>& names) { names_.insert(names.begin(), names.end()); }
  /// Adds a name that the file declares: an identifier, no word of the language, and not taken.
  void declare(const JsonPlace& place, const std::string& name);

  /// Each fails at `place` naming the unknown name.
  void check(const JsonPlace& place, const Expression& expression) const;

  /// Reads and checks. `fallback` is used when the key is absent.
  Expression read(const JsonPlace& object, std::string_view key) const;
  Expression read(const JsonPlace& object, std::string_view key, const Value& fallback) const;
  std::vector<Expression> read_list(const JsonPlace& object, std::string_view key) const;

 private:
  std::set<std::string> names_;
};

}  // namespace evo
