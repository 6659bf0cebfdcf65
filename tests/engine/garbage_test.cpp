#include "engine/expression/expression_cpp.h"
#include "engine/source/template.h"
#include "engine/space/space.h"
#include "engine/task/candidate.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// The text with a few bytes changed, lost, doubled or moved.
std::string damaged(std::string text, Rng& rng) {
  static const std::string kBytes = "{}[]()\"',:.%$/-0129 \n\\x\xff";
  for (std::uint64_t i = 0; i <= rng.below(3) && !text.empty(); ++i) {
    const std::size_t at = rng.below(text.size());
    switch (rng.below(4)) {
      case 0:
        text[at] = kBytes[rng.below(kBytes.size())];
        break;
      case 1:
        text.erase(at, 1 + rng.below(8));
        break;
      case 2:
        text.insert(at, text.substr(rng.below(text.size()), rng.below(12)));
        break;
      default:
        text.insert(at, 1, kBytes[rng.below(kBytes.size())]);
    }
  }
  return text;
}

}  // namespace

// Anything but an Error fails these tests: another exception, or a report of the sanitizers.
TEST_CASE("damaged task, family and template files lead to errors that name a file, or still work") {
  Rng rng(31);
  int complaints = 0;
  for (const char* file : {"scale/task.json", "scale/plain/family.json", "scale/plain/kernel.cu"}) {
    for (int i = 0; i < 1500; ++i) {
      SourceTree tree = scale_task();
      tree[file] = damaged(tree[file], rng);
      const std::string complaint = complaint_of([&] {
        const Task task = load_task(tree, "scale");
        const Target target = make_target(task, "cuda", {}, {});
        const Bindings facts = {{"sm", number(90)}};
        const Space space(load_families(tree, task), facts, specialisations_of(task, target));
        const Genome genome = space.sample(rng);
        make_candidate(tree, task, space.family(genome.family), genome, target, facts);
      });
      complaints += !complaint.empty();
      INFO(complaint);
      CHECK(complaint.find('\n') == std::string::npos);
    }
  }
  CHECK(complaints > 1000);
}

TEST_CASE("damaged expressions lead to errors, or still work") {
  Rng rng(32);
  const std::vector<std::string> names = {"a", "b"};
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = damaged(random_expression(rng, names, 3), rng);
    complaint_of([&] {
      const Expression expression = parse(text);
      expr::to_cpp(expression, {{"a", number(1)}});
      expression.evaluate({{"a", number(1)}, {"b", number(2)}});
    });
  }
}

TEST_CASE("deeply nested JSON, numbers beyond a double and other malformed JSON are errors") {
  const auto complaint = [](const std::string& content) {
    SourceTree tree = scale_task();
    tree["scale/task.json"] = content;
    return complaint_of([&] { load_task(tree, "scale"); });
  };
  CHECK_THAT(complaint(std::string(100'000, '[')), ContainsSubstring("not valid JSON"));
  CHECK_THAT(complaint(std::string(100'000, '[') + std::string(100'000, ']')),
             ContainsSubstring("expected an object, not a list"));
  CHECK_THAT(complaint("{\"seeds\": 1e999}"), ContainsSubstring("beyond what a double can"));
  CHECK_THAT(complaint("\xff\xfe{}"), ContainsSubstring("not valid JSON"));
  CHECK_THAT(complaint(""), ContainsSubstring("not valid JSON"));
}
