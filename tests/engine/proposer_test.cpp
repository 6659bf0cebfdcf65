#include "engine/proposer.h"

#include <catch2/catch_test_macros.hpp>
#include <deque>

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

const Family kFamily = family("f",
                              {gene("x", {number(0), number(1), number(2), number(3)}),
                               gene("y", {number(0), number(1), number(2), number(3)})},
                              {"x + y < 6"});

Genome at(std::int64_t x, std::int64_t y) {
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

TEST_CASE("a proposer has its share and no more, with the parents that it names, and its strategy goes on") {
  const Space space({kFamily}, {}, {});
  std::deque<Proposed> script;
  for (std::int64_t y = 0; y < 3; ++y) script.push_back({at(3, y), {0}});
  Scripted proposer(script);
  const auto strategy = make_proposed(make_strategy("exhaustive", space, 0), space, &proposer, 0.25, {});
  const auto proposals = drive(*strategy, 100);
  REQUIRE(proposals.size() == space.size());
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    CHECK(proposals[i].ticket == i);
    const bool proposed = i == 3 || i == 7 || i == 11;
    CHECK((proposals[i].op == "proposer") == proposed);
    if (proposed) CHECK(proposals[i].parents == std::vector<std::uint64_t>{0});
  }
}

TEST_CASE("illegal proposals, repeated ones and unknown parents are refused, told why, and cost nothing") {
  const Space space({kFamily}, {}, {});
  Scripted proposer({{at(3, 3), {}}, {at(0, 0), {}}, {at(3, 2), {77}}, {{"g", {}}, {}}, {at(3, 2), {}}});
  const auto strategy = make_proposed(make_strategy("exhaustive", space, 0), space, &proposer, 0.25, {});
  const auto proposals = drive(*strategy, 4);
  CHECK(proposals[3].op == "proposer");
  CHECK(proposals[3].genome == at(3, 2));
  REQUIRE(proposer.refusals.size() == 4);
  CHECK(proposer.refusals[0].find("x + y < 6") != std::string::npos);
  CHECK(proposer.refusals[1].find("evaluated before") != std::string::npos);
  CHECK(proposer.refusals[2].find("parent 77") != std::string::npos);
  CHECK(proposer.refusals[3].find("no family 'g'") != std::string::npos);
}

TEST_CASE("a resumed search takes the proposals that were recorded, and asks nobody for them") {
  const Space space({kFamily}, {}, {});
  Scripted proposer({{at(3, 1), {}}, {at(3, 2), {}}, {at(2, 3), {}}});
  const auto whole = drive(*make_proposed(make_strategy("evolve", space, 4), space, &proposer, 0.25, {}), 12);
  RecordedProposals recorded{10, {{3, whole[3].genome}, {7, whole[7].genome}}};
  Scripted later({{at(2, 3), {}}});
  const auto strategy = make_proposed(make_strategy("evolve", space, 4), space, &later, 0.25, recorded);
  const auto resumed = drive(*strategy, 10);
  CHECK(later.asked == 0);
  for (std::size_t i = 0; i < 10; ++i) CHECK(resumed[i].genome == whole[i].genome);
  drive(*strategy, 2);
  CHECK(later.asked > 0);
  const auto alone =
      drive(*make_proposed(make_strategy("evolve", space, 4), space, nullptr, 0.25, recorded), 12);
  for (std::size_t i = 0; i < 10; ++i) CHECK(alone[i].genome == whole[i].genome);
}
