#include "engine/edits/source_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/choices/plain_form.h"
#include "engine/expression/json_value.h"

namespace evo {
namespace {

using Json = nlohmann::ordered_json;

bool overlap(const TextChange& a, const TextChange& b) {
  const std::size_t a_end = a.offset + a.length, b_end = b.offset + b.length;
  if (a.length == 0 && b.length == 0) return false;
  if (a.length == 0) return b.offset < a.offset && a.offset < b_end;
  if (b.length == 0) return a.offset < b.offset && b.offset < a_end;
  return a.offset < b_end && b.offset < a_end;
}

EditOperator operator_named(const std::string& name) {
  const auto found = std::ranges::find(kEditOperators, name);
  if (found == kEditOperators.end()) throw usage_error(fmt::format("'{}' is no operator of edits", name));
  return static_cast<EditOperator>(found - kEditOperators.begin());
}

Json to_json(const SourceEdit& edit) {
  Json changes = Json::array();
  for (const TextChange& change : edit.changes)
    changes.push_back({{"at", change.offset}, {"length", change.length}, {"text", change.text}});
  return {{"operator", name_of(edit.op)},
          {"file", edit.file},
          {"line", edit.line},
          {"what", edit.what},
          {"changes", std::move(changes)}};
}

SourceEdit edit_from(const Json& json) {
  SourceEdit edit;
  edit.op = operator_named(json.at("operator").get<std::string>());
  edit.file = json.at("file").get<std::string>();
  edit.line = json.at("line").get<int>();
  edit.what = json.at("what").get<std::string>();
  for (const Json& change : json.at("changes"))
    edit.changes.push_back({change.at("at").get<std::size_t>(), change.at("length").get<std::size_t>(),
                            change.at("text").get<std::string>()});
  return edit;
}

std::string text_of(const EditList& list) {
  Json edits = Json::array();
  for (const SourceEdit& edit : list.edits) edits.push_back(to_json(edit));
  const Json json = {{"base", Json::parse(to_json(list.base))}, {"edits", std::move(edits)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string_view name_of(EditOperator op) {
  return kEditOperators[static_cast<std::size_t>(op)];
}

std::string SourceEdit::key() const {
  std::string key = file;
  for (const TextChange& change : changes)
    key += fmt::format("\n{} {} {} {}", change.offset, change.length, change.text.size(), change.text);
  return key;
}

std::string in_words(const SourceEdit& edit) {
  return fmt::format("{}:{}: {}", authors_name(edit.file.substr(edit.file.rfind('/') + 1)), edit.line, edit.what);
}

std::string in_words(const EditList& list) {
  return joined(list.edits, "\n", [](const SourceEdit& edit) { return in_words(edit); });
}

bool overlap(const SourceEdit& a, const SourceEdit& b) {
  return a.file == b.file && std::ranges::any_of(a.changes, [&](const TextChange& of_a) {
           return std::ranges::any_of(b.changes, [&](const TextChange& of_b) { return overlap(of_a, of_b); });
         });
}

std::optional<EditList> with_edit(EditList list, SourceEdit edit) {
  for (const SourceEdit& known : list.edits)
    if (overlap(known, edit) || known.key() == edit.key()) return std::nullopt;
  list.edits.push_back(std::move(edit));
  return list;
}

std::optional<EditList> crossed(const EditList& a, const EditList& b, Rng& rng) {
  if (a.base.family != b.base.family) return std::nullopt;
  const auto half_of = [&rng](std::vector<SourceEdit> edits) {
    const std::size_t kept = (edits.size() + 1) / 2;
    while (edits.size() > kept) edits.erase(edits.begin() + static_cast<std::ptrdiff_t>(rng.below(edits.size())));
    return edits;
  };
  EditList child{a.base, half_of(a.edits)};
  for (SourceEdit& edit : half_of(b.edits)) {
    const bool known = std::ranges::any_of(child.edits, [&](const SourceEdit& one) { return one.key() == edit.key(); });
    if (known) continue;
    std::optional<EditList> joined = with_edit(child, std::move(edit));
    if (!joined) return std::nullopt;
    child = std::move(*joined);
  }
  return child;
}

std::string edited_text(std::string_view text, std::string_view file, const std::vector<SourceEdit>& edits) {
  std::vector<TextChange> changes;
  for (const SourceEdit& edit : edits)
    if (edit.file == file) changes.insert(changes.end(), edit.changes.begin(), edit.changes.end());
  // What is inserted at a place stands ahead of what is replaced from there on.
  std::ranges::stable_sort(changes, [](const TextChange& a, const TextChange& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.length == 0 && b.length > 0;
  });
  std::string edited;
  std::size_t at = 0;
  for (const TextChange& change : changes) {
    if (change.offset < at || change.offset > text.size() || change.length > text.size() - change.offset)
      throw usage_error(fmt::format("an edit does not fit {}", file));
    edited += text.substr(at, change.offset - at);
    edited += change.text;
    at = change.offset + change.length;
  }
  return edited.append(text.substr(at));
}

ProposedFiles edited_files(const SourceTree& tree, const std::string& task, const EditList& list) {
  SourceTree texts;
  for (const SourceEdit& edit : list.edits) {
    const auto file = tree.find(edit.file);
    if (file == tree.end()) throw usage_error(fmt::format("there is no file {} to edit", edit.file));
    if (!texts.contains(edit.file)) texts[edit.file] = edited_text(file->second, edit.file, list.edits);
  }
  ProposedFiles made = replaced_files(tree, task, list.base, texts);
  made.files[fmt::format("{}/{}/{}", task, made.genome.family, kEditsFile)] = text_of(list);
  return made;
}

std::optional<EditList> edit_list_in(const SourceTree& files) {
  for (const auto& [path, text] : files) {
    if (!is_edit_list(path)) continue;
    try {
      const Json json = Json::parse(text);
      EditList list{genome_from_json(json.at("base").dump()), {}};
      for (const Json& edit : json.at("edits")) list.edits.push_back(edit_from(edit));
      return list;
    } catch (const Json::exception& error) {
      throw usage_error(fmt::format("{} cannot be read: {}", path, error.what()));
    }
  }
  return std::nullopt;
}

}  // namespace evo
