// `//% probe`: lines that a diagnosis adds to a kernel, and that leave no trace otherwise.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "engine/source/template.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string kProbed =
    "a\n"
    "//% probe\n"
    "//%   if n > 1\n"
    "probe ${n}\n"
    "//%   end\n"
    "//% end\n"
    "//% if n > 1\n"
    "b\n"
    "//% end\n";

std::string rendered(const std::string& source, const Bindings& bindings) {
  return render_template({{"t/kernel.cu", source}}, "t/kernel.cu", bindings);
}

}  // namespace

TEST_CASE("a probe is rendered for a diagnosis alone") {
  const Bindings usual = {{"n", std::int64_t{2}}};
  Bindings probing = usual;
  probing[kProbing] = true;
  CHECK(rendered(kProbed, usual) == "a\nb\n");
  CHECK(rendered(kProbed, probing) == "a\nprobe 2\nb\n");
}

TEST_CASE("a file without its probes renders to the same") {
  const std::string without = without_probes(kProbed);
  CHECK(without == "a\n//% if n > 1\nb\n//% end\n");
  CHECK(without_probes(without) == without);
}

TEST_CASE("a probe needs its end and takes no words") {
  CHECK_THROWS_WITH(rendered("//% probe\nx\n", {}), ContainsSubstring("'probe' without 'end'"));
  CHECK_THROWS_WITH(rendered("//% probe scores\n//% end\n", {}), ContainsSubstring("unexpected 'scores'"));
}
