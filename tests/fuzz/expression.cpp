// Any text is an expression or an error that says why; what parses evaluates, folds and prints without surprises.
#include "engine/expression/expression.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/error.h"
#include "engine/expression/expression_cpp.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const evo::Bindings known = {{"a", std::int64_t{7}}, {"b", true}, {"s", std::string("text")}};
  const auto attempt = [](auto action) {
    try {
      action();
    } catch (const evo::Error&) {
      // One line for the user.
    }
  };
  attempt([&] {
    const evo::Expression expression = evo::Expression::parse(text);
    attempt([&] { expression.evaluate(known); });
    attempt([&] { expression.evaluate_partially({{"a", std::int64_t{INT64_MIN}}}); });
    attempt([&] { expr::to_cpp(expression, known); });
    expression.names();
  });
  return 0;
}
