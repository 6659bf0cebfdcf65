// Any text is an expression or an error that says why; what parses evaluates, folds and prints without surprises.
#include "engine/expression/expression.h"

#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "engine/expression/expression_cpp.h"
#include "tests/fuzz/fuzz.h"

EVO_FUZZ_TARGET(expression) {
  const evo::Bindings known = {{"a", std::int64_t{7}}, {"b", true}, {"s", std::string("text")}};
  const auto attempt = [](auto action) {
    try {
      action();
    } catch (const evo::Error&) {
      // One line for the user.
    }
  };
  const evo::Expression expression = evo::Expression::parse(text);
  attempt([&] { expression.evaluate(known); });
  attempt([&] { expression.evaluate_partially({{"a", std::int64_t{INT64_MIN}}}); });
  attempt([&] { evo::expr::to_cpp(expression, known); });
  expression.names();
}
