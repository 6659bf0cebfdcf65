#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/source_tree.h"
#include "engine/expression/expression.h"

namespace evo {

/// A value in a JSON file together with its place, so that every error names file, key and reason:
/// "fp8_sdpa/task.json: inputs[2].dtype: expected a string, not 3". All accessors throw usage_error.
class JsonPlace {
 public:
  /// The root of a file of the tree. Reports syntax errors with line and column, and keys given twice.
  static JsonPlace read(const SourceTree& tree, const std::string& file);

  [[noreturn]] void fail(const std::string& reason) const;

  /// This must be an object with no other keys than these.
  void allow_only(const std::vector<std::string_view>& keys) const;
  JsonPlace at(std::string_view key) const;
  std::optional<JsonPlace> find(std::string_view key) const;
  /// The object's members, in the file's order.
  std::vector<std::pair<std::string, JsonPlace>> members() const;
  /// The object's members, each of which must be an integer, a boolean or a string.
  Bindings values() const;
  std::vector<JsonPlace> items() const;
  /// The items of a list; of anything else, itself.
  std::vector<JsonPlace> one_or_more() const;
  bool is_object() const;
  bool is_list() const;

  std::string text() const;
  /// The text, read by a parser whose errors get this place.
  template <typename Parse>
  auto read_as(Parse parse) const {
    const std::string given = text();
    try {
      return parse(given);
    } catch (const Error& error) {
      fail(error.what());
    }
  }
  std::int64_t integer() const;
  double number() const;  ///< Finite.
  /// A measurement: NaN where there was none, which is a missing key or null.
  double number_if_any(std::string_view key) const;
  bool boolean() const;
  Value value() const;  ///< An integer, boolean or string.
  /// A string, parsed; an integer or boolean stands for itself.
  Expression expression() const;

 private:
  struct Here;
  explicit JsonPlace(Here here);
  [[noreturn]] void wrong_type(std::string_view expected) const;

  std::shared_ptr<const Here> here_;
};

/// Fails at `place` unless `name`, which is that of a `what`, is one of these.
void require_known(const JsonPlace& place, std::string_view what, const std::string& name,
                   const std::vector<std::string>& names);

}  // namespace evo
