// Any text is a template or an error with file and line; includes stay in the tree, loops and output are bounded.
#include "engine/source/template.h"

#include <cstdint>
#include <string>

#include "tests/fuzz/fuzz.h"

EVO_FUZZ_TARGET(template) {
  // The text includes itself where it says so.
  const evo::SourceTree tree = {
      {"t/f/kernel.cu", text}, {"t/f/part.cuh", text}, {"include/part.cuh", "a ${n}\n"}, {"t/f/slot/one.cu", "${x}\n"}};
  const evo::Bindings known = {{"n", std::int64_t{3}}, {"x", true}, {"slot", std::string("one")}};
  evo::render_template(tree, "t/f/kernel.cu", known);
}
