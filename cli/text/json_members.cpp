#include "cli/text/json_members.h"

#include <nlohmann/json.hpp>

namespace evo::cli {
namespace {

const Json* member_of(const Json& holder, const char* key) {
  const auto found = holder.find(key);
  return found == holder.end() ? nullptr : &*found;
}

}  // namespace

std::string member_text(const Json& holder, const char* key) {
  const Json* member = member_of(holder, key);
  return member != nullptr && member->is_string() ? member->get<std::string>() : "";
}

std::uint64_t member_count(const Json& holder, const char* key) {
  const Json* member = member_of(holder, key);
  return member != nullptr && member->is_number_unsigned() ? member->get<std::uint64_t>() : 0;
}

double member_number(const Json& holder, const char* key) {
  const Json* member = member_of(holder, key);
  return member != nullptr && member->is_number() ? member->get<double>() : 0;
}

const Json& member_list(const Json& holder, const char* key) {
  static const Json kNone = Json::array();
  const Json* member = member_of(holder, key);
  return member != nullptr && member->is_array() ? *member : kNone;
}

}  // namespace evo::cli
