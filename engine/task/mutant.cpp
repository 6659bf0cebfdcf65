#include "engine/task/mutant.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/expression/json_place.h"
#include "engine/task/stages.h"

namespace evo {
namespace {

std::vector<Verdict> read_verdicts(const JsonPlace& place) {
  std::vector<Verdict> verdicts;
  for (const JsonPlace& item : place.one_or_more()) {
    try {
      verdicts.push_back(parse_verdict(item.text()));
    } catch (const Error& error) {
      item.fail(error.what());
    }
  }
  if (verdicts.empty()) place.fail("at least one verdict is needed");
  return verdicts;
}

/// One file of mutants.
class MutantLoader {
 public:
  MutantLoader(const SourceTree& tree, const Task& task, const std::string& file, std::string family)
      : tree_(tree), task_(task), family_(std::move(family)), root_(JsonPlace::read(tree, file)) {}

  std::vector<Mutant> load() {
    root_.allow_only({"base", "objective", "controls", "mutants"});
    if (!tree_.contains(fmt::format("{}/{}/family.json", task_.name, family_))) {
      root_.fail(fmt::format("task {} has no family {}: the file is named after one", task_.name, family_));
    }
    for (const auto& [gene, place] : root_.at("base").members()) base_.insert_or_assign(gene, place.value());
    std::vector<Mutant> mutants;
    for (const JsonPlace& place : root_.at("controls").items()) mutants.push_back(control(place));
    for (const JsonPlace& place : root_.at("mutants").items()) mutants.push_back(mutant(place));
    return mutants;
  }

 private:
  Mutant control(const JsonPlace& place) {
    place.allow_only({"name", "about", "genes", "options", "objective"});
    Mutant mutant = common(place);
    for (const std::string_view kind : kind_names()) mutant.expected.emplace(kind, std::vector{Verdict::valid});
    return mutant;
  }

  Mutant mutant(const JsonPlace& place) {
    place.allow_only({"name", "about", "genes", "options", "objective", "edits", "expect", "says", "stage"});
    Mutant mutant = common(place);
    for (const JsonPlace& change : place.at("edits").items()) mutant.edits.push_back(edit(change));
    try {
      edited(tree_, mutant.edits);
    } catch (const Error& error) {
      place.at("edits").fail(error.what());
    }
    mutant.expected = expected(place.at("expect"));
    if (const auto says = place.find("says")) mutant.says = says->text();
    if (const auto stage = place.find("stage")) mutant.stages = stages(*stage, mutant.options);
    return mutant;
  }

  Mutant common(const JsonPlace& place) {
    Mutant mutant;
    mutant.name = place.at("name").text();
    if (!names_.insert(mutant.name).second) place.at("name").fail(fmt::format("'{}' is there twice", mutant.name));
    mutant.about = place.at("about").text();
    mutant.family = family_;
    mutant.genes = base_;
    if (const auto genes = place.find("genes")) {
      for (const auto& [gene, allele] : genes->members()) {
        mutant.genes.insert_or_assign(gene, allele.value());
        mutant.kept.push_back(gene);
      }
    }
    if (const auto options = place.find("options")) {
      mutant.options = options->values();
      for (const auto& [name, value] : mutant.options) {
        const auto option = std::ranges::find(task_.options, name, &Option::name);
        if (option == task_.options.end()) options->fail(fmt::format("the task has no option '{}'", name));
        if (std::ranges::find(option->values, value) == option->values.end())
          options->fail(fmt::format("option {} cannot be '{}'", name, expr::to_string(value)));
      }
    }
    const auto objective = place.find("objective");
    if (const auto given = objective ? objective : root_.find("objective")) mutant.objective = known_objective(*given);
    return mutant;
  }

  std::string known_objective(const JsonPlace& place) const {
    try {
      return task_.objective(place.text()).name;
    } catch (const Error& error) {
      place.fail(error.what());
    }
  }

  /// A name, or a list of names any of which is right.
  std::vector<std::string> stages(const JsonPlace& place, const Bindings& options) const {
    Bindings all = task_.default_options();
    for (const auto& [name, value] : options) all.insert_or_assign(name, value);
    const std::vector<Stage> known = load_stages(tree_, task_, all).stages;
    std::vector<std::string> names;
    for (const JsonPlace& item : place.one_or_more()) {
      names.push_back(item.text());
      if (std::ranges::find(known, names.back(), &Stage::name) == known.end())
        item.fail(fmt::format("the task has no stage '{}'", names.back()));
    }
    return names;
  }

  TextEdit edit(const JsonPlace& place) const {
    place.allow_only({"file", "find", "replace"});
    TextEdit edit{place.at("file").text(), place.at("find").text(), place.at("replace").text()};
    const std::string of_family = fmt::format("{}/{}/{}", task_.name, family_, edit.file);
    if (tree_.contains(of_family)) edit.file = of_family;
    const std::string of_task = fmt::format("{}/{}", task_.name, edit.file);
    if (edit.file.ends_with(".cuh") && !tree_.contains(edit.file) && tree_.contains(of_task)) edit.file = of_task;
    const bool allowed = edit.file == of_family || edit.file == of_task || edit.file.starts_with("include/");
    if (!allowed || !tree_.contains(edit.file)) {
      place.at("file").fail(
          fmt::format("'{}' is no file of the family, no .cuh of the task and none of include/", edit.file));
    }
    return edit;
  }

  static std::map<std::string, std::vector<Verdict>, std::less<>> expected(const JsonPlace& place) {
    std::map<std::string, std::vector<Verdict>, std::less<>> expected;
    if (!place.is_object()) {
      for (const std::string_view kind : kind_names()) expected.emplace(kind, read_verdicts(place));
    } else {
      place.allow_only(kind_names());
      for (const auto& [kind, verdicts] : place.members()) expected.emplace(kind, read_verdicts(verdicts));
      if (expected.empty()) place.fail("no device kind is named");
    }
    for (const auto& [kind, verdicts] : expected) {
      if (std::ranges::find(verdicts, Verdict::valid) != verdicts.end()) place.fail("a mutant is never valid");
    }
    return expected;
  }

  const SourceTree& tree_;
  const Task& task_;
  std::string family_;
  JsonPlace root_;
  Bindings base_;
  std::set<std::string> names_;
};

}  // namespace

bool is_control(const Mutant& mutant) {
  return std::ranges::any_of(mutant.expected, [](const auto& by_kind) {
    return std::ranges::find(by_kind.second, Verdict::valid) != by_kind.second.end();
  });
}

std::vector<Mutant> load_mutants(const SourceTree& tree, const Task& task) {
  std::vector<Mutant> mutants;
  for (const auto& [path, content] : tree) {
    const std::vector<std::string> parts = split(path, '/');
    if (parts.size() != 3 || !is_mutant_file(path, task.name) || !parts[2].ends_with(".json")) continue;
    std::vector<Mutant> more = MutantLoader(tree, task, path, parts[2].substr(0, parts[2].size() - 5)).load();
    std::ranges::move(more, std::back_inserter(mutants));
  }
  return mutants;
}

}  // namespace evo
