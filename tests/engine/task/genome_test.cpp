#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const Genome kGenome = {"plain", {{"tile", number(64)}, {"ping", true}, {"layout", std::string("xor \"8\"")}}};

}  // namespace

TEST_CASE("a genome's text names the family and its genes in order") {
  CHECK(to_text(kGenome) == "plain: layout=xor \"8\" ping=true tile=64");
  CHECK(to_text(Genome{"empty", {}}) == "empty:");
}

TEST_CASE("a genome survives the way through JSON, types included") {
  CHECK(to_json(kGenome) == R"({"family":"plain","genes":{"layout":"xor \"8\"","ping":true,"tile":64}})");
  CHECK(genome_from_json(to_json(kGenome)) == kGenome);
  CHECK(genome_from_json(R"({"family":"p","genes":{"b":1}})") !=
        genome_from_json(R"({"family":"p","genes":{"b":true}})"));
}

TEST_CASE("a malformed genome is refused") {
  const auto complaint = [](std::string_view json) { return complaint_of([&] { genome_from_json(json); }); };
  CHECK_THAT(complaint("{"), ContainsSubstring("genome: line 1, column 2: not valid JSON"));
  CHECK_THAT(complaint("[]"), ContainsSubstring("expected an object"));
  CHECK_THAT(complaint("{}"), ContainsSubstring("key 'family' is missing"));
  CHECK_THAT(complaint(R"({"family":"p","genes":{"b":1.5}})"),
             ContainsSubstring("genes.b: expected an integer, true, false or a string"));
  CHECK_THAT(complaint(R"({"family":"p","genes":{},"extra":1})"), ContainsSubstring("unknown key 'extra'"));
}
