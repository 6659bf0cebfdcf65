#include "engine/task/mutant.h"

#include "tests/engine/support.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* kFile = "scale/mutants/plain.json";

constexpr const char* kSuite = R"json({
  "base": {"threads": 32},
  "controls": [{"name": "honest", "about": "as it is"}],
  "mutants": [
    {"name": "scalled", "about": "another name", "genes": {"threads": 64},
     "edits": [{"file": "family.json", "find": "\"genes\"", "replace": "\"genes\" "}],
     "expect": {"cuda": ["wrong_answer", "crashed"]}, "says": "words"},
    {"name": "empty", "about": "nothing", "edits": [], "expect": "timed_out"}
  ]
})json";

SourceTree with_suite(const std::string& suite = kSuite) {
  SourceTree tree = test::scale_task();
  tree[kFile] = suite;
  return tree;
}

std::vector<Mutant> load_mutants(const SourceTree& tree) {
  return load_mutants(tree, load_task(tree, "scale"));
}

/// What loading says when one place of the suite is changed.
std::string complaint(const std::string& from, const std::string& to) {
  const SourceTree tree = test::edited(with_suite(), kFile, from, to);
  return test::complaint_of([&] { load_mutants(tree); });
}

}  // namespace

TEST_CASE("every part of a suite of mutants is read") {
  const auto mutants = load_mutants(with_suite());
  REQUIRE(mutants.size() == 3);
  CHECK(mutants[0].name == "honest");
  CHECK(mutants[0].expected.at("vgpu") == std::vector{Verdict::valid});
  CHECK(mutants[1].family == "plain");
  CHECK(mutants[1].genes == Bindings{{"threads", test::number(64)}});
  CHECK(mutants[1].kept == std::vector<std::string>{"threads"});
  CHECK(mutants[1].edits.at(0).file == "scale/plain/family.json");
  CHECK(mutants[1].expected.at("cuda") == std::vector{Verdict::wrong_answer, Verdict::crashed});
  CHECK_FALSE(mutants[1].expected.contains("vgpu"));
  CHECK(mutants[1].says == "words");
  CHECK(mutants[2].expected.size() == 2);
}

TEST_CASE("mutants do not change the hash of a task") {
  CHECK(load_task(with_suite(), "scale").hash == load_task(test::scale_task(), "scale").hash);
  CHECK(is_mutant_file("scale/mutants/plain.json", "scale"));
  CHECK_FALSE(is_mutant_file("scale/plain/mutants/x.cu", "scale"));
  CHECK_FALSE(is_mutant_file("scaled/mutants/plain.json", "scale"));
}

TEST_CASE("an edit must fit one place of one file of its family") {
  const SourceTree tree = {{"a/b.cu", "one two two"}};
  CHECK(edited(tree, {{"a/b.cu", "one", "1"}, {"a/b.cu", "1 two", "3"}}).at("a/b.cu") == "3 two");
  CHECK_THAT(test::complaint_of([&] { edited(tree, {{"a/b.cu", "two", ""}}); }), ContainsSubstring("more than once"));
  CHECK_THAT(test::complaint_of([&] { edited(tree, {{"a/b.cu", "three", ""}}); }), ContainsSubstring("does not hold"));
  CHECK_THAT(complaint("\\\"genes\\\"\", \"rep", "nowhere\", \"rep"),
             ContainsSubstring("scale/mutants/plain.json: mutants[0].edits: scale/plain/family.json does not hold"));
  for (const char* file : {"../task.json", "scale/task.json", "/etc/passwd", "reference.cu"}) {
    CHECK_THAT(complaint("family.json", file), ContainsSubstring("mutants[0].edits[0].file"));
  }
}

TEST_CASE("a malformed suite names the file, the key and the reason") {
  CHECK_THAT(complaint("\"crashed\"", "\"crushed\""), ContainsSubstring("mutants[0].expect.cuda[1]: unknown verdict"));
  CHECK_THAT(complaint("\"crashed\"", "\"valid\""), ContainsSubstring("a mutant is never valid"));
  CHECK_THAT(complaint("\"empty\"", "\"honest\""), ContainsSubstring("'honest' is there twice"));
  CHECK_THAT(complaint("\"cuda\"", "\"rocm\""), ContainsSubstring("unknown key 'rocm'"));
  SourceTree stray = test::scale_task();
  stray["scale/mutants/other.json"] = kSuite;
  CHECK_THAT(test::complaint_of([&] { load_mutants(stray); }), ContainsSubstring("task scale has no family other"));
}
