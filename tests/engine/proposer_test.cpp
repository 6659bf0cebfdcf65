#include "engine/search/proposer.h"

#include <deque>

#include "engine/strategy/strategies.h"
#include "engine/task/scope.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

const Family kPlane = family(
    "f",
    {gene("x", {number(0), number(1), number(2), number(3)}), gene("y", {number(0), number(1), number(2), number(3)})},
    {"x + y < 6"});

Genome at_point(std::int64_t x, std::int64_t y) {
  return {"f", {{"x", number(x)}, {"y", number(y)}}};
}

/// Proposes from a list and notes what was refused.
class Scripted : public Proposer {
 public:
  explicit Scripted(std::deque<Proposed> script) : script_(std::move(script)) {}
  std::optional<Proposed> next() override {
    ++asked;
    if (script_.empty()) return std::nullopt;
    Proposed proposed = script_.front();
    script_.pop_front();
    return proposed;
  }
  void refused(const Proposed& proposed, const std::string& why) override {
    refusals.push_back(to_text(proposed.genome) + " " + why);
  }
  int asked = 0;
  std::vector<std::string> refusals;

 private:
  std::deque<Proposed> script_;
};

/// For searches without a proposer.
ProposedTemplates no_templates() {
  return {{}, {}, {}, {}};
}

std::vector<Proposal> drive(Strategy& strategy, std::size_t asks) {
  std::vector<Proposal> proposals;
  while (proposals.size() < asks) {
    auto proposal = strategy.ask();
    if (!proposal) break;
    strategy.tell({proposal->ticket, 1.0});
    proposals.push_back(std::move(*proposal));
  }
  return proposals;
}

}  // namespace

TEST_CASE("a proposer makes no more than its share of the proposals, and the strategy makes the others") {
  const Space space({kPlane}, {}, {});
  std::deque<Proposed> script;
  for (std::int64_t y = 0; y < 3; ++y) script.push_back({at_point(3, y), {0}});
  Scripted proposer(script);
  ProposedTemplates none = no_templates();
  const auto strategy = make_proposed(make_strategy("exhaustive", space, 0), space, &proposer, {0.25}, none, {});
  const auto proposals = drive(*strategy, 100);
  REQUIRE(proposals.size() == space.size());
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    CHECK(proposals[i].ticket == i);
    const bool proposed = i == 3 || i == 7 || i == 11;
    CHECK((proposals[i].op == "proposer") == proposed);
    if (proposed) CHECK(proposals[i].parents == std::vector<std::uint64_t>{0});
  }
}

TEST_CASE("illegal proposals, repeated ones and unknown parents are refused with a reason and cost nothing") {
  const Space space({kPlane}, {}, {});
  Scripted proposer(
      {{at_point(3, 3), {}}, {at_point(0, 0), {}}, {at_point(3, 2), {77}}, {{"g", {}}, {}}, {at_point(3, 2), {}}});
  ProposedTemplates none = no_templates();
  const auto strategy = make_proposed(make_strategy("exhaustive", space, 0), space, &proposer, {0.25}, none, {});
  const auto proposals = drive(*strategy, 4);
  CHECK(proposals[3].op == "proposer");
  CHECK(proposals[3].genome == at_point(3, 2));
  REQUIRE(proposer.refusals.size() == 4);
  CHECK(proposer.refusals[0].find("x + y < 6") != std::string::npos);
  CHECK(proposer.refusals[1].find("evaluated before") != std::string::npos);
  CHECK(proposer.refusals[2].find("parent 77") != std::string::npos);
  CHECK(proposer.refusals[3].find("no family 'g'") != std::string::npos);
}

TEST_CASE("a resumed search uses the recorded proposals without asking the proposer") {
  const Space space({kPlane}, {}, {});
  Scripted proposer({{at_point(3, 1), {}}, {at_point(3, 2), {}}, {at_point(2, 3), {}}});
  ProposedTemplates none = no_templates();
  const auto whole = drive(*make_proposed(make_strategy("evolve", space, 2), space, &proposer, {0.25}, none, {}), 12);
  REQUIRE(whole[3].op == "proposer");
  REQUIRE(whole[7].op == "proposer");
  RecordedProposals recorded{10, {{3, whole[3].genome}, {7, whole[7].genome}}};
  Scripted later({{at_point(2, 3), {}}});
  const auto strategy = make_proposed(make_strategy("evolve", space, 2), space, &later, {0.25}, none, recorded);
  const auto resumed = drive(*strategy, 10);
  CHECK(later.asked == 0);
  for (std::size_t i = 0; i < 10; ++i) CHECK(resumed[i].genome == whole[i].genome);
  drive(*strategy, 2);
  CHECK(later.asked > 0);
  const auto alone =
      drive(*make_proposed(make_strategy("evolve", space, 2), space, nullptr, {0.25}, none, recorded), 12);
  for (std::size_t i = 0; i < 10; ++i) CHECK(alone[i].genome == whole[i].genome);
}

namespace {

/// The task of support.h on a GPU, and what proposers may bring to it.
struct ScaleProposals {
  SourceTree tree = scale_task();
  Task task = load_task(tree, "scale");
  Target target = make_target(task, "vgpu", {}, {});
  Bindings facts = facts_of({.sm = 90, .smem_per_block_bytes = 100'000});
  Space space = make_space();
  ProposedTemplates templates{tree, task, target, facts};

  Space make_space() const {
    const Bindings known = joined(facts, target.options);
    return Space(load_families(tree, task), known, specialisations_of(task, target));
  }
  SourceTree allele(const std::string& name, const std::string& text) const {
    return allele_files("scale", "plain", "store", name, text);
  }
};

Genome scaled_by(const std::string& store, std::int64_t vector = 1) {
  return {"plain", {{"threads", number(32)}, {"vector", number(vector)}, {"store", store}}};
}

const char* const kPlan =
    R"json({"launches": [{"kernel": "mine", "grid": ["N", "1", "1"], "block": ["32", "1", "1"],
                                  "arguments": ["x", "a", "y", "N"]}]})json";

}  // namespace

TEST_CASE("a new allele is rendered in its slot, and later genomes may have it") {
  ScaleProposals scale;
  const Genome genome = scaled_by("vectored");
  CHECK(scale.templates.files_of(genome).empty());
  scale.templates.admit(genome, scale.allele("vectored", "// my store of ${vector}\n"));
  const Candidate candidate = scale.templates.build(genome);
  CHECK(candidate.programs.at(0).source.ends_with("// my store of 1\n"));
  CHECK(candidate.files == scale.allele("vectored", "// my store of ${vector}\n"));
  scale.templates.admit(scaled_by("vectored", 2), {});
  CHECK(scale.templates.build(scaled_by("vectored", 2)).programs.at(0).source.ends_with("// my store of 2\n"));
  CHECK(scale.templates.files_of(scaled_by("plain")).empty());
}

TEST_CASE("a source with a plan becomes a new family, named after its content") {
  ScaleProposals scale;
  const ProposedFiles source = source_files("scale", "// kernel for ${M} columns\n", kPlan);
  CHECK(source.genome.family.starts_with("source_"));
  CHECK(source.genome.genes.empty());
  scale.templates.admit(source.genome, source.files);
  const Candidate candidate = scale.templates.build(source.genome);
  CHECK(candidate.programs.at(0).source == "// kernel for 64 columns\n");
  CHECK(candidate.programs.at(0).plans.at("small").launches.at(0).grid == Dim3{3, 1, 1});
  CHECK(candidate.files == source.files);
  CHECK(source_files("scale", "// kernel for ${M} columns\n", kPlan).genome == source.genome);
  CHECK(source_files("scale", "// another\n", kPlan).genome.family != source.genome.family);
}

TEST_CASE("a patch becomes a family of its own that has the genome's alleles alone") {
  ScaleProposals scale;
  const std::string& kernel = scale.tree.at("scale/plain/kernel.cu");
  const std::string line = kernel.substr(0, kernel.find('\n') + 1);
  REQUIRE(kernel.find(line, 1) == std::string::npos);
  const Genome genome = scaled_by("plain", 2);
  const ProposedFiles patch =
      patched_files(scale.tree, "scale", genome, {{"kernel.cu", line, line + "// patched for ${vector}\n"}});
  CHECK(patch.genome.family.starts_with("patch_"));
  CHECK(patch.genome.genes == genome.genes);
  scale.templates.admit(patch.genome, patch.files);
  const Candidate patched = scale.templates.build(patch.genome);
  const Candidate before =
      make_candidate(scale.tree, scale.task, scale.space.family("plain"), genome, scale.target, scale.facts);
  CHECK(patched.programs.at(0).source.find("// patched for 2\n") != std::string::npos);
  CHECK(patched.programs.at(0).plans.at("small").launches.at(0).grid ==
        before.programs.at(0).plans.at("small").launches.at(0).grid);
  CHECK(patched.files == patch.files);
  for (const auto& [path, text] : patch.files) CHECK(!path.ends_with("/vector.cu"));
  // Another genome of it is not legal, and a patch of the patch is.
  Genome other = patch.genome;
  other.genes["vector"] = number(1);
  CHECK(complaint_of([&] { scale.templates.admit(other, {}); }).find("vector cannot be") != std::string::npos);
  const ProposedFiles again = patched_files(scale.templates.all_files(), "scale", patch.genome,
                                            {{"kernel.cu", "// patched for", "// again for"}});
  CHECK(again.genome.family != patch.genome.family);
}

TEST_CASE("a patch that does not fit, leaves its family or changes the plan is refused") {
  ScaleProposals scale;
  const auto refusal = [&](const std::string& file, const std::string& find) {
    return complaint_of([&] { patched_files(scale.tree, "scale", scaled_by("plain"), {{file, find, "x"}}); });
  };
  CHECK(refusal("kernel.cu", "not there").find("does not hold 'not there'") != std::string::npos);
  CHECK(refusal("../task.json", "scale").find("there is no file") != std::string::npos);
  CHECK(refusal("family.json", "plain").find("cannot change family.json") != std::string::npos);
  CHECK(complaint_of([&] { patched_files(scale.tree, "scale", scaled_by("plain"), {}); }) == "its patch has no edits");
  CHECK(complaint_of([&] {
          patched_files(scale.tree, "scale", {"none", {}}, {{"kernel.cu", "a", "b"}});
        }).find("no family 'none'") != std::string::npos);
}

TEST_CASE("a patch edits files that the kernel includes, and has versions of its own of them and of those between") {
  ScaleProposals scale;
  SourceTree tree = scale.tree;
  tree["include/outer.cuh"] = "// outer\n//% include \"inner.cuh\"\n";
  tree["include/inner.cuh"] = "// inner of ${vector}\n";
  tree["include/other.cuh"] = "// other\n";
  tree["scale/plain/kernel.cu"] += "//% include \"include/outer.cuh\"\n//% include \"include/other.cuh\"\n";
  ProposedTemplates templates(tree, scale.task, scale.target, scale.facts);
  const ProposedFiles patch = patched_files(tree, "scale", scaled_by("plain", 2),
                                            {{"include/inner.cuh", "// inner", "// patched inner"},
                                             {"scale/plain/kernel.cu", "include/other.cuh", "include/inner.cuh"}});
  templates.admit(patch.genome, patch.files);
  const std::string source = templates.build(patch.genome).programs.at(0).source;
  CHECK(source.ends_with("// outer\n// patched inner of 2\n// patched inner of 2\n"));
  for (const auto& [path, text] : patch.files) CHECK(path.starts_with("scale/" + patch.genome.family + "/"));
  // The task's own kernel is as it was, and the patch can be patched again.
  const Candidate plain = templates.build(scaled_by("plain", 2));
  CHECK(plain.programs.at(0).source.ends_with("// outer\n// inner of 2\n// other\n"));
  const ProposedFiles again = patched_files(templates.all_files(), "scale", patch.genome,
                                            {{"include/inner.cuh", "// patched", "// twice patched"}});
  templates.admit(again.genome, again.files);
  CHECK(templates.build(again.genome).programs.at(0).source.ends_with("// twice patched inner of 2\n"));
  const auto refusal = [&](const std::string& file) {
    return complaint_of([&] { patched_files(tree, "scale", scaled_by("plain", 2), {{file, "a", "b"}}); });
  };
  CHECK(refusal("scale/task.json") == "there is no file scale/task.json that the kernel includes");
  CHECK(refusal("include/none.cuh").find("there is no file") != std::string::npos);
}

TEST_CASE("an allele or a kernel that is nearly another is refused, and the message names the other") {
  ScaleProposals scale;
  scale.templates.admit(scaled_by("quick"), scale.allele("quick", "int a = ${vector}; // mine\n"));
  CHECK(complaint_of([&] {
          scale.templates.admit(scaled_by("quicker"), scale.allele("quicker", "int  b = ${vector};\n"));
        }) == "scale/plain/store/quicker.cu is scale/plain/store/quick.cu but for comments, blanks and names");
  const ProposedFiles source = source_files("scale", "int kernel_for = ${M};\n", kPlan);
  scale.templates.admit(source.genome, source.files);
  const ProposedFiles renamed = source_files("scale", "int  renamed = ${M}; // mine\n", kPlan);
  CHECK(complaint_of([&] { scale.templates.admit(renamed.genome, renamed.files); }).find(source.genome.family) !=
        std::string::npos);
  const ProposedFiles other = source_files("scale", "int renamed = ${M} + 1;\n", kPlan);
  scale.templates.admit(other.genome, other.files);
}

TEST_CASE("a malformed text or plan of a proposer is refused in one line and adds nothing") {
  ScaleProposals scale;
  const auto refusal = [&](const Genome& genome, const SourceTree& files) {
    const std::string complaint = complaint_of([&] { scale.templates.admit(genome, files); });
    CHECK(std::count(complaint.begin(), complaint.end(), '\n') == 0);
    CHECK(scale.templates.files_of(genome).empty());
    return complaint;
  };
  const auto allele = [&](const std::string& text) {
    return refusal(scaled_by("vectored"), scale.allele("vectored", text));
  };
  const auto source = [&](const std::string& text, const std::string& plan) {
    try {
      const ProposedFiles files = source_files("scale", text, plan);
      return refusal(files.genome, files.files);
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(allele("${colums}"), "store/vectored.cu:1: 'colums'");
  has(allele("//% include \"../../etc/passwd\""), "inside the templates folder");
  has(allele("//% include \"include/none.cuh\""), "no file");
  has(allele("//% for i in 0..1000000\nx\n//% end"), "loop iterations");
  has(allele("//% slot store"), "nested deeper");
  for (const char* text : {"#include </etc/passwd>", "  #  include \"x\"", "#/* */include \"x\"", "#inc\\\nlude \"x\"",
                           "%:include \"x\"", "?\?=include \"x\"", "#${'incl'}ude \"x\"", "#if __has_include(\"x\")"})
    has(allele(text), "complete without");
  has(refusal(scaled_by("vectored"), scale.allele("other", "")), "does not have what it brings");
  has(refusal(scaled_by("plain"), scale.allele("plain", "// mine")), "there already");
  has(refusal(scaled_by("first"), {{"scale/plain/store/first.cu", "// mine"}, {"scale/task.json", "{}"}}),
      "scale/task.json is there already");
  has(refusal(scaled_by("before"), scale.allele("before", "")), "must not be the first by name");
  has(refusal(scaled_by("vectored", 4), scale.allele("vectored", "")), "a CTA would cross a row");
  has(complaint_of([&] { scale.allele("../escape", ""); }), "no name of an allele");
  has(complaint_of([&] { scale.allele("long", std::string(1 << 20, 'x')); }), "at most");
  has(source("x", "[]"), "no object");
  has(source("x", "{\"genes\": []}"), "has genes");
  has(source("x", "{}"), "launches");
  has(source("x", "{\"a\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}"),
      "its plan: nested deeper than 64 levels");
  has(source("x", R"({"[[": "]{\"[)" + std::string(100, '[') + "\"}"), "unknown key '[['");
  has(source("x", R"({"launches": [], "system": "rm"})"), "unknown key 'system'");
  has(source("x", R"({"launches": [{"kernel": "f();", "grid": [1,1,1], "block": [1,1,1], "arguments": []}]})"),
      "is not a name");
  has(source("x", R"({"launches": [{"kernel": "f", "grid": [0,1,1], "block": [1,1,1], "arguments": ["x"]}]})"),
      "must be 1 to 2^31");
  has(source("x", R"({"requires": "sm > 100", "launches": [{"kernel": "f", "grid": [1,1,1], "block": [1,1,1],
                      "arguments": ["x"]}]})"),
      "it requires sm > 100");
}

TEST_CASE("a text for a gene that is not a slot is refused") {
  ScaleProposals scale;
  scale.tree = edited(scale.tree, "scale/plain/family.json", R"({"name": "vector")",
                      R"({"name": "mode", "values": ["a", "b"]}, {"name": "vector")");
  ProposedTemplates templates(scale.tree, scale.task, scale.target, scale.facts);
  Genome genome = scaled_by("plain");
  genome.genes["mode"] = std::string("b");
  const std::string complaint =
      complaint_of([&] { templates.admit(genome, allele_files("scale", "plain", "mode", "b", "// mine\n")); });
  CHECK(complaint == "gene mode is no slot: it takes no new allele");
  CHECK(templates.files_of(genome).empty());
}

TEST_CASE("results from outside its space do not change what a strategy proposes") {
  ScaleProposals scale;
  const ProposedFiles source = source_files("scale", "// mine\n", kPlan);
  Scripted proposer({{scaled_by("vectored"), {0}, scale.allele("vectored", "// mine\n")},
                     {scaled_by("vectored"), {}, {}},
                     {source.genome, {3}, source.files},
                     {scaled_by("vectored"), {}, scale.allele("vectored", "// another\n")}});
  const auto alone = drive(*make_strategy("genetic", scale.space, 5), 9);
  const auto strategy =
      make_proposed(make_strategy("genetic", scale.space, 5), scale.space, &proposer, {0.25}, scale.templates, {});
  const auto proposals = drive(*strategy, 11);
  REQUIRE(proposals.size() == std::min<std::size_t>(11, alone.size() + 2));
  CHECK(proposals[3].genome == scaled_by("vectored"));
  CHECK(proposals[3].parents == std::vector<std::uint64_t>{0});
  CHECK(proposals[7].genome == source.genome);
  CHECK(proposals[7].parents == std::vector<std::uint64_t>{3});
  std::vector<Proposal> own;
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    CHECK(proposals[i].ticket == i);
    if (proposals[i].op != "proposer") own.push_back(proposals[i]);
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    CHECK(own[i].genome == alone[i].genome);
    REQUIRE(own[i].parents.size() == alone[i].parents.size());
    for (std::size_t p = 0; p < own[i].parents.size(); ++p)
      CHECK(proposals[own[i].parents[p]].genome == alone[alone[i].parents[p]].genome);
  }
  REQUIRE(!proposer.refusals.empty());
  CHECK(proposer.refusals[0].find("evaluated before") != std::string::npos);
}

TEST_CASE("a resumed search restores the alleles and sources of a proposer") {
  ScaleProposals scale;
  const SourceTree files = scale.allele("vectored", "// mine\n");
  scale.templates.restore(files);
  const auto strategy = make_proposed(make_strategy("random", scale.space, 5), scale.space, nullptr, {0.25},
                                      scale.templates, {4, {{3, scaled_by("vectored")}}});
  const auto proposals = drive(*strategy, 4);
  CHECK(proposals.at(3).genome == scaled_by("vectored"));
  CHECK(scale.templates.build(proposals[3].genome).files == files);
}
