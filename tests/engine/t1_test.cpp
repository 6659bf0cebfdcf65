#include "engine/short_form/t1.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "engine/space/space.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string t1(const std::vector<std::pair<std::string, std::string>>& parameters,
               const std::vector<std::string>& conditions) {
  std::string text = R"({"ConfigurationSpace": {"TuningParameters": [)";
  for (std::size_t i = 0; i < parameters.size(); ++i)
    text += fmt::format(R"({}{{"Name": "{}", "Type": "int", "Values": "{}"}})", i > 0 ? "," : "", parameters[i].first,
                        parameters[i].second);
  text += R"(], "Conditions": [)";
  for (std::size_t i = 0; i < conditions.size(); ++i)
    text += fmt::format(R"({}{{"Expression": "{}", "Parameters": []}})", i > 0 ? "," : "", conditions[i]);
  return text + "]}, \"KernelSpecification\": {}}";
}

std::vector<Value> numbers(std::initializer_list<std::int64_t> values) {
  return {values.begin(), values.end()};
}

std::uint64_t legal(const std::vector<std::string>& conditions) {
  return Space({read_t1(t1({{"a", "[i for i in range(1, 9)]"}, {"b", "[1, 2, 4, 8]"}}, conditions), "t")}, {}, {})
      .size();
}

}  // namespace

TEST_CASE("T1 values are Python lists, ranges, comprehensions and their sums") {
  CHECK(t1_values("[1, 2, 4]") == numbers({1, 2, 4}));
  CHECK(t1_values("[4096]") == numbers({4096}));
  CHECK(t1_values("[1, 2] + list(range(32, 65, 16))") == numbers({1, 2, 32, 48, 64}));
  CHECK(t1_values("[2**i for i in range(0, 6)]") == numbers({1, 2, 4, 8, 16, 32}));
  CHECK(t1_values("[i for i in range(1, 10+1) if i % 3 == 0]") == numbers({3, 6, 9}));
  CHECK(t1_values("list(range(3))") == numbers({0, 1, 2}));
  CHECK(t1_values("['a', \"b\"]") == std::vector<Value>{std::string("a"), std::string("b")});
  CHECK(t1_values("[True, False]") == std::vector<Value>{true, false});
  CHECK(t1_values("[0.5, 1.5]") == std::vector<Value>{std::string("0.5"), std::string("1.5")});
  CHECK_THAT(complaint_of([] { t1_values("{1, 2}"); }), ContainsSubstring("expected a list such as"));
  CHECK_THAT(complaint_of([] { t1_values("[i for i]"); }), ContainsSubstring("expected 'NAME in LIST'"));
  CHECK_THAT(complaint_of([] { t1_values("list(range(1, 9, 0))"); }), ContainsSubstring("step of 0"));
}

TEST_CASE("T1 conditions are Python expressions") {
  CHECK(legal({}) == 32);
  CHECK(legal({"a % b == 0"}) == 8 + 4 + 2 + 1);
  CHECK(legal({"not (a == 1 and b == 1)"}) == 31);
  CHECK(legal({"2 <= a <= 4 or b in [8]"}) == 3 * 4 + 5);
  CHECK(legal({"a**2 <= 16", "b != 4"}) == 4 * 3);
  CHECK(legal({"2**a > b * 16"}) == 4 + 3 + 2 + 1);  // a > 4 + log2 b
  CHECK(legal({"a // 3 == 1"}) == 3 * 4);
}

TEST_CASE("a malformed T1 file is refused with the place and the reason") {
  const auto refusal = [](const std::string& text) { return complaint_of([&] { read_t1(text, "f.json"); }); };
  CHECK_THAT(refusal("{"), ContainsSubstring("f.json: malformed JSON"));
  CHECK_THAT(refusal("{}"), ContainsSubstring("f.json: no T1 file"));
  const std::string nested = std::string(200'000, '[') + std::string(200'000, ']');
  CHECK(refusal(R"({"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Type": "int", "Values": )" + nested +
                "}]}}") == "f.json: nested deeper than 64 levels");
  CHECK_THAT(refusal(t1({{"a", "[1"}}, {})), ContainsSubstring("f.json: parameter a"));
  CHECK_THAT(refusal(t1({{"a", "[]"}}, {})), ContainsSubstring("f.json: parameter a: no values"));
  CHECK_THAT(refusal(t1({{"a", "[1]"}, {"a", "[1]"}}, {})), ContainsSubstring("given twice"));
  CHECK_THAT(refusal(t1({{"a", "[1]"}}, {"a >"})), ContainsSubstring("f.json: condition 1"));
  CHECK_THAT(refusal(t1({{"a", "[1]"}}, {"a > b"})), ContainsSubstring("unknown name 'b'"));
}

TEST_CASE("the constraints of a large matrix product leave the published number of genomes") {
  // The space of CLBlast's GEMM as published: 663,552 combinations, of which 116,928 are legal.
  const Family gemm = read_t1(
      t1({{"MWG", "[16, 32, 64, 128]"},
          {"NWG", "[16, 32, 64, 128]"},
          {"KWG", "[16, 32]"},
          {"MDIMC", "[8, 16, 32]"},
          {"NDIMC", "[8, 16, 32]"},
          {"MDIMA", "[8, 16, 32]"},
          {"NDIMB", "[8, 16, 32]"},
          {"KWI", "[2]"},
          {"VWM", "[1, 2, 4, 8]"},
          {"VWN", "[1, 2, 4, 8]"},
          {"STRM", "[0, 1]"},
          {"STRN", "[0, 1]"},
          {"SA", "[0, 1]"},
          {"SB", "[0, 1]"}},
         {"KWG % KWI == 0", "MWG % (MDIMC * VWM) == 0", "NWG % (NDIMC * VWN) == 0", "MWG % (MDIMA * VWM) == 0",
          "NWG % (NDIMB * VWN) == 0", "KWG % ((MDIMC * NDIMC)/MDIMA) == 0", "KWG % ((MDIMC * NDIMC)/NDIMB) == 0",
          "not (MWG == 128 and NWG == 128 and MDIMC == 8 and NDIMC == 8)"}),
      "gemm");
  const Space space({gemm}, {}, {});
  CHECK(space.product_size("gemm") == 663552);
  CHECK(space.size() == 116928);
}

TEST_CASE("a space of more than 1e12 combinations is counted and sampled") {
  std::vector<std::pair<std::string, std::string>> parameters;
  for (int i = 0; i < 12; ++i) parameters.emplace_back(fmt::format("g{}", i), "[i for i in range(1, 11)]");
  const Space space({read_t1(t1(parameters, {"g0 * g1 <= 50", "g10 % g11 == 0", "g3 + g4 + g5 >= 7"}), "wide")}, {},
                    {});
  CHECK(space.product_size("wide") == 1e12);
  CHECK(space.size() == std::uint64_t{81} * 27 * 980 * 100000);
  Rng rng(1);
  for (int i = 0; i < 100; ++i) CHECK(space.contains(space.sample(rng)));
}

TEST_CASE("sampling is uniform over the legal genomes of a constrained space") {
  const Space space({read_t1(t1({{"a", "[i for i in range(1, 9)]"}, {"b", "[1, 2, 4, 8]"}, {"c", "[0, 1]"}},
                                {"a % b == 0", "c == 0 or a > 3"}),
                             "t")},
                    {}, {});
  Rng rng(11);
  std::map<std::string, int> counts;
  const int draws = 400 * static_cast<int>(space.size());
  for (int i = 0; i < draws; ++i) ++counts[to_text(space.sample(rng))];
  REQUIRE(counts.size() == space.size());
  double chi_square = 0;
  for (const auto& [genome, count] : counts) chi_square += (count - 400.0) * (count - 400.0) / 400.0;
  // Mean n - 1, standard deviation sqrt(2 (n - 1)): four of them are exceeded once in thirty thousand.
  const double freedom = static_cast<double>(space.size() - 1);
  CHECK(chi_square < freedom + 4 * std::sqrt(2 * freedom));
}

TEST_CASE("a space of listed genomes has these and no others") {
  Family listed = family(
      "f", {gene("a", {number(1), number(2), number(3)}), gene("b", {false, true}), gene("c", {number(7), number(9)})},
      {});
  const std::vector<Path> paths = {{0, 1, kInactive}, {0, 0, 0}, {2, 1, 1}, {0, 0, 1}, {2, 1, 1}};
  const Space space(listed, paths);
  CHECK(space.size() == 4);
  for (std::uint64_t i = 0; i < 4; ++i)
    CHECK(std::find(paths.begin(), paths.end(), space.point_at(i).alleles) != paths.end());
  CHECK(space.contains(Point{0, {2, 1, 1}}));
  CHECK(!space.contains(Point{0, {2, 1, 0}}));
  CHECK(!space.contains(Point{0, {1, 1, 1}}));
  CHECK(space.neighbours(Point{0, {0, 0, 0}}, 2, Space::Step::any) == std::vector<Point>{{0, {0, 0, 1}}});
  CHECK(to_text(space.genome({0, {0, 1, kInactive}})) == "f: a=1 b=true");
  CHECK_THAT(complaint_of([&] {
               Space(listed, {{0, 0, 0}, {0, 0, kInactive}});
             }),
             ContainsSubstring("gene c is present"));
  CHECK_THAT(complaint_of([&] { Space(listed, std::vector<Path>{}); }), ContainsSubstring("no genomes"));
}
