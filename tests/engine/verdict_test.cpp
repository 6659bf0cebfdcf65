#include "engine/result/verdict.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "engine/record/enumerators.h"
#include "tests/engine/support.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(EVO_SOURCE_DIR + file).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a verdict is read back from its name") {
  for (const VerdictInfo& info : verdicts()) {
    CHECK(parse_verdict(name_of(info.verdict)) == info.verdict);
    CHECK_FALSE(info.meaning.empty());
  }
  CHECK_THAT(test::complaint_of([] { parse_verdict("wrongish"); }), ContainsSubstring("unknown verdict 'wrongish'"));
}

TEST_CASE("only a valid candidate and a copy of one have a latency") {
  for (const VerdictInfo& info : verdicts())
    CHECK((info.outcome == OutcomeClass::ok) == (info.verdict == Verdict::valid || info.verdict == Verdict::duplicate));
}

TEST_CASE("a candidate that the gates refuse was not built") {
  for (const VerdictInfo& info : verdicts()) {
    const bool refused = info.verdict == Verdict::illegal || info.verdict == Verdict::compile_failed ||
                         info.verdict == Verdict::over_resources;
    CHECK(was_built(info.verdict) == !refused);
  }
}

TEST_CASE("the documented JSON names every verdict") {
  const std::string page = text_of("/docs/json.md");
  for (const VerdictInfo& info : verdicts()) CHECK_THAT(page, ContainsSubstring(std::string(name_of(info.verdict))));
}

TEST_CASE("the page of a report has a colour for every stage") {
  const std::string style = text_of("/cli/report/page/page.css");
  for (const std::string_view stage : kEnumeratorNames<VerdictStage>)
    for (const char* rule : {"--stage-{}:", ".dot.stage-{} "})
      CHECK_THAT(style, ContainsSubstring(fmt::format(fmt::runtime(rule), stage)));
}
