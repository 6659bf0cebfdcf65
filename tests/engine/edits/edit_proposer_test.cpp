#include "engine/edits/edit_proposer.h"

#include <algorithm>
#include <functional>

#include "engine/strategy/strategies.h"
#include "engine/task/scope.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

const std::string kKernel =
    "__global__ void scale(const float* x, const float* a, float* y, float* partial, int n, int rows) {\n"
    "  float first = x[0];\n"
    "  float second = x[0];\n"
    "  first += 1;\n"
    "  __syncthreads();\n"
    "  y[0] = second;\n"
    "  __syncthreads();\n"
    "  y[1] = second;\n"
    "}\n";

/// A search of few genomes, whose candidates are judged by their source.
struct EditSearch {
  SourceTree tree = scale_task();
  Task task;
  Target target;
  Bindings facts = facts_of({.sm = 90, .smem_per_block_bytes = 100'000});
  std::optional<ProposedTemplates> templates;
  std::optional<Space> space;
  std::unique_ptr<EditProposer> proposer;
  std::unique_ptr<Strategy> strategy;
  std::vector<std::string> sources, notes;
  std::vector<Proposal> proposals;
  /// The latency of a right one.
  std::function<std::optional<double>(const std::string&)> judge;

  explicit EditSearch(std::uint64_t seed = 1) {
    tree["scale/plain/kernel.cu"] = kKernel + "//% slot store\n";
    tree = test::edited(tree, "scale/plain/family.json", R"([32, 64, 128])", "[32]");
    tree = test::edited(tree, "scale/plain/family.json", R"([1, 2, 4])", "[1]");
    task = load_task(tree, "scale");
    target = make_target(task, "vgpu", {}, {});
    templates.emplace(tree, task, target, facts);
    space.emplace(load_families(tree, task), joined(facts, target.options), specialisations_of(task, target));
    const auto build = [this](const Genome& genome) {
      if (!templates->files_of(genome).empty()) return templates->build(genome);
      return make_candidate(tree, task, space->family(genome.family), genome, target, facts);
    };
    proposer = std::make_unique<EditProposer>(
        EditProposer::Options{.task = "scale", .tree = tree, .seed = seed, .build = build}, *templates);
    strategy = make_proposed(make_strategy("exhaustive", *space, 0), *space, proposer.get(), {0.5}, *templates, {});
    this->build = build;
    judge = [](const std::string& source) -> std::optional<double> {
      if (source.find("y[0] = second;") == std::string::npos) return std::nullopt;
      return 10.0 + static_cast<double>(std::ranges::count(source, '_'));  // Barriers cost.
    };
  }

  std::function<Candidate(const Genome&)> build;

  void run(std::size_t evaluations) {
    while (proposals.size() < evaluations) {
      std::optional<Proposal> proposal = strategy->ask();
      if (!proposal) return;
      const std::string source = build(proposal->genome).programs.front().source;
      const std::optional<double> latency_us = judge(source);
      Evaluation evaluation;
      evaluation.verdict = latency_us ? Verdict::valid : Verdict::wrong_answer;
      evaluation.latency_us = latency_us.value_or(0);
      strategy->tell({proposal->ticket, latency_us});
      proposer->observe(*proposal, evaluation);
      sources.push_back(source);
      proposals.push_back(std::move(*proposal));
    }
  }
  std::vector<SourceEdit> edits_of(std::size_t ticket) const {
    return edit_list_in(templates->files_of(proposals.at(ticket).genome)).value_or(EditList{}).edits;
  }
};

}  // namespace

TEST_CASE("a search by edits finds what is superfluous, also where the space has few genomes") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EditSearch search(seed);
    search.run(200);
    const auto without_barriers = std::ranges::find_if(search.sources, [&](const std::string& source) {
      return source.find("__syncthreads") == std::string::npos && search.judge(source);
    });
    REQUIRE(without_barriers != search.sources.end());
    REQUIRE(search.space->size() < 5);
    for (std::size_t i = 5; i < search.proposals.size(); ++i) CHECK(search.proposals[i].op == kEditOperator);
  }
}

TEST_CASE("the same seed gives the same proposals, and none is made twice") {
  EditSearch a(3), b(3), c(4);
  for (EditSearch* search : {&a, &b, &c}) search->run(80);
  CHECK(a.sources == b.sources);
  CHECK(a.sources != c.sources);
  std::set<std::string> seen(a.sources.begin(), a.sources.end());
  CHECK(seen.size() == a.sources.size());
}

TEST_CASE("edits that failed are in no later proposal of the genome, and only valid candidates are parents") {
  EditSearch search;
  search.run(200);
  std::vector<std::pair<Genome, std::set<std::string>>> failed;
  for (std::size_t i = 1; i < search.proposals.size(); ++i) {
    std::set<std::string> keys;
    for (const SourceEdit& edit : search.edits_of(i)) keys.insert(edit.key());
    if (keys.empty()) continue;
    const Genome base = edit_list_in(search.templates->files_of(search.proposals[i].genome))->base;
    for (const auto& [of, one] : failed) CHECK(!(of == base && std::ranges::includes(keys, one)));
    if (!search.judge(search.sources[i])) failed.emplace_back(base, keys);
    for (const std::uint64_t parent : search.proposals[i].parents) CHECK(search.judge(search.sources[parent]));
  }
  CHECK(!failed.empty());
}

TEST_CASE("what a later check finds wrong is no parent any more, and its edits are not tried again") {
  EditSearch search;
  search.run(30);
  std::size_t wrong = 0;
  for (std::size_t i = 1; i < search.proposals.size() && wrong == 0; ++i)
    if (search.judge(search.sources[i]) && search.edits_of(i).size() == 1) wrong = i;
  REQUIRE(wrong > 0);
  const std::string key = search.edits_of(wrong).front().key();
  const auto base_of = [&](std::size_t ticket) {
    return edit_list_in(search.templates->files_of(search.proposals[ticket].genome)).value_or(EditList{}).base;
  };
  search.strategy->retract({wrong, std::nullopt});
  search.run(120);
  for (std::size_t i = 30; i < search.proposals.size(); ++i) {
    CHECK(std::ranges::find(search.proposals[i].parents, wrong) == search.proposals[i].parents.end());
    for (const SourceEdit& edit : search.edits_of(i))
      if (base_of(i) == base_of(wrong)) CHECK(edit.key() != key);
  }
}

TEST_CASE("a new best one is reduced to the edits that matter") {
  EditSearch search(2);
  search.run(200);
  std::size_t reductions = 0, best = 0;
  for (std::size_t i = 0; i < search.proposals.size(); ++i) {
    reductions += search.proposals[i].note.starts_with("without the edit") ? 1 : 0;
    if (search.judge(search.sources[i]).value_or(1e9) < search.judge(search.sources[best]).value_or(1e9)) best = i;
  }
  CHECK(reductions > 0);
  // Two barriers are all that costs.
  const double least = *search.judge(search.sources[best]);
  std::size_t fewest = 99;
  for (std::size_t i = 1; i < search.proposals.size(); ++i)
    if (search.judge(search.sources[i]) == least && !search.edits_of(i).empty())
      fewest = std::min(fewest, search.edits_of(i).size());
  CHECK(fewest <= 2);
}
