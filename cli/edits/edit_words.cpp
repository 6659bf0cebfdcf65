#include "cli/edits/edit_words.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/text/json_text.h"
#include "engine/edits/source_edit.h"

namespace evo::cli {

Json edits_json(const SourceTree& files) {
  Json json = Json::array();
  const std::optional<EditList> list = edit_list_in(files);
  if (!list) return json;
  for (const SourceEdit& edit : list->edits)
    json.push_back({{"operator", name_of(edit.op)}, {"file", edit.file}, {"line", edit.line}, {"what", edit.what}});
  return json;
}

std::string edit_change(const SourceTree& parent, const SourceTree& child) {
  const EditList before = edit_list_in(parent).value_or(EditList{}), after = edit_list_in(child).value_or(EditList{});
  const auto has = [](const EditList& list, const SourceEdit& edit) {
    return std::ranges::any_of(list.edits, [&](const SourceEdit& one) { return one.key() == edit.key(); });
  };
  std::string text;
  const auto add = [&text](const std::string& line) { text += (text.empty() ? "" : "\n") + line; };
  for (const SourceEdit& edit : after.edits)
    if (!has(before, edit)) add(in_words(edit));
  for (const SourceEdit& edit : before.edits)
    if (!has(after, edit)) add("without " + in_words(edit));
  return text;
}

}  // namespace evo::cli
