#include "engine/expression/expression.h"

#include "engine/expression/expression_cpp.h"
#include "engine/expression/expression_python.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const Bindings kKnownNames = {{"a", number(7)},   {"b", number(3)},    {"zero", number(0)},
                              {"yes", true},      {"no", false},       {"layout", std::string("xor")},
                              {"big", INT64_MAX}, {"small", INT64_MIN}};

std::string value_of(std::string_view text) {
  return expr::to_string(parse(text).evaluate(kKnownNames));
}
std::string evaluation_complaint(std::string_view text) {
  return complaint_of([&] { parse(text).evaluate(kKnownNames); });
}
std::string parse_complaint(std::string_view text) {
  return complaint_of([&] { parse(text); });
}

}  // namespace

TEST_CASE("arithmetic follows C, and // follows Python") {
  CHECK(value_of("a + b * 2") == "13");
  CHECK(value_of("(a + b) * 2") == "20");
  CHECK(value_of("a - b - 1") == "3");
  CHECK(value_of("a / b") == "2");
  CHECK(value_of("-a / b") == "-2");
  CHECK(value_of("-a % b") == "-1");
  CHECK(value_of("-a // b") == "-3");
  CHECK(value_of("a // -b") == "-3");
  CHECK(value_of("a // b") == "2");
  CHECK(value_of("1 << 4 >> 1") == "8");
  CHECK(value_of("0x1F & 6 | 8") == "14");
  CHECK(value_of("- -a") == "7");
}

TEST_CASE("bitwise operators bind tighter than comparisons, comparisons tighter than not, and, or") {
  CHECK(value_of("a & 1 == 1") == "true");
  CHECK(value_of("not a == 8") == "true");
  CHECK(value_of("!no == yes") == "true");
  CHECK(value_of("yes || no && no") == "true");
  CHECK(value_of("yes ? 1 : no ? 2 : 3") == "1");
  CHECK(value_of("1 + 1 << 1 == 4") == "true");
}

TEST_CASE("functions of the language") {
  CHECK(value_of("min(a, b, 5)") == "3");
  CHECK(value_of("max(a, b, 5)") == "7");
  CHECK(value_of("ceil_div(a, b)") == "3");
  CHECK(value_of("ceil_div(6, b)") == "2");
  CHECK(value_of("ceil_div(-a, b)") == "-2");
  CHECK(value_of("ceil_div(0, b)") == "0");
  CHECK(value_of("pow2(64) && !pow2(48) && !pow2(0) && !pow2(-4)") == "true");
  CHECK(value_of("log2(1)") == "0");
  CHECK(value_of("log2(255)") == "7");
  CHECK(value_of("log2(256)") == "8");
}

TEST_CASE("strings compare with strings, in either kind of quotes") {
  CHECK(value_of("layout == 'xor'") == "true");
  CHECK(value_of("layout != \"xor\"") == "false");
  CHECK(value_of("layout in ('none', 'xor')") == "true");
  CHECK(value_of("yes ? 'left' : 'right'") == "left");
  CHECK_THAT(evaluation_complaint("layout == 1"), ContainsSubstring("compares the string 'xor' with an integer"));
  CHECK_THAT(evaluation_complaint("layout + 1"), ContainsSubstring("the string 'xor' stands where a number is needed"));
  CHECK_THAT(complaint_of([] { parse("layout").evaluate_bool(kKnownNames); }), ContainsSubstring("true or false"));
  CHECK_THAT(complaint_of([] { parse("layout").evaluate_int(kKnownNames); }), ContainsSubstring("number"));
}

TEST_CASE("Python's forms of constraints are read") {
  CHECK(value_of("yes and not no or no") == "true");
  CHECK(value_of("True and not False") == "true");
  CHECK(value_of("1 < b <= 3 < a") == "true");
  CHECK(value_of("1 < b < 3") == "false");
  CHECK(value_of("b in (1, 2, 3)") == "true");
  CHECK(value_of("b in [1, 2,]") == "false");
  CHECK(value_of("b not in (1, 2)") == "true");
  CHECK(value_of("b in ()") == "false");
  // Constraints as they stand in Kernel Tuner's T1 files.
  const Bindings gemm = {{"MWG", number(64)},          {"MDIMC", number(16)},       {"NDIMC", number(8)},
                         {"MDIMA", number(16)},        {"KWG", number(32)},         {"VWM", number(2)},
                         {"block_size_x", number(64)}, {"block_size_y", number(8)}, {"use_padding", number(0)}};
  CHECK(parse("KWG % ((MDIMC * NDIMC)/MDIMA) == 0").evaluate_bool(gemm));
  CHECK(parse("MWG % (MDIMC * VWM) == 0").evaluate_bool(gemm));
  CHECK(parse("32 <= block_size_x * block_size_y <= 1024").evaluate_bool(gemm));
  CHECK(parse("use_padding == 0 or block_size_x % 32 != 0").evaluate_bool(gemm));
  CHECK(parse("not use_padding").evaluate_bool(gemm));
}

TEST_CASE("booleans count as 0 and 1, integers are true unless zero") {
  CHECK(value_of("a + yes") == "8");
  CHECK(value_of("yes == 1") == "true");
  CHECK(value_of("a && zero") == "false");
  CHECK(value_of("a || zero") == "true");
  CHECK(parse("a").evaluate_bool(kKnownNames));
  CHECK(parse("yes").evaluate_int(kKnownNames) == 1);
}

TEST_CASE("a result beyond 64 bits is an error, never another number") {
  CHECK_THAT(evaluation_complaint("big + 1"), ContainsSubstring("exceeds 64 bits"));
  CHECK_THAT(evaluation_complaint("small - 1"), ContainsSubstring("exceeds 64 bits"));
  CHECK_THAT(evaluation_complaint("big * 2"), ContainsSubstring("exceeds 64 bits"));
  CHECK_THAT(evaluation_complaint("-small"), ContainsSubstring("exceeds 64 bits"));
  CHECK_THAT(evaluation_complaint("small / -1"), ContainsSubstring("exceeds 64 bits"));
  CHECK_THAT(evaluation_complaint("1 << 63"), ContainsSubstring("must be 0 to 62"));
  CHECK_THAT(evaluation_complaint("2 << 62"), ContainsSubstring("exceeds 64 bits"));
  CHECK_THAT(evaluation_complaint("1 << -1"), ContainsSubstring("must be 0 to 62"));
  CHECK(value_of("small % -1") == "0");
  CHECK(value_of("big - 1 + 1") == std::to_string(INT64_MAX));
  CHECK(value_of("1 << 62") == std::to_string(std::int64_t{1} << 62));
}

TEST_CASE("undefined operations are errors that show the expression") {
  CHECK(evaluation_complaint("a / zero") == "'a / zero': division by zero");
  CHECK_THAT(evaluation_complaint("a % zero"), ContainsSubstring("division by zero"));
  CHECK_THAT(evaluation_complaint("a // zero"), ContainsSubstring("division by zero"));
  CHECK_THAT(evaluation_complaint("ceil_div(a, 0)"), ContainsSubstring("must be positive"));
  CHECK_THAT(evaluation_complaint("log2(zero)"), ContainsSubstring("must be positive"));
  CHECK_THAT(evaluation_complaint("a + nobody"), ContainsSubstring("unknown name 'nobody'"));
}

TEST_CASE("operands and branches that are not reached are not evaluated") {
  CHECK(value_of("no && a / zero > 1") == "false");
  CHECK(value_of("yes || nobody") == "true");
  CHECK(value_of("yes ? a : a / zero") == "7");
  CHECK(value_of("9 < a < nobody") == "false");
  CHECK(value_of("a in (7, nobody)") == "true");
}

TEST_CASE("malformed text is refused with its column") {
  CHECK(parse_complaint("a + ") == "expression 'a + ', column 5: expected a value at the end");
  CHECK_THAT(parse_complaint("(a + b"), ContainsSubstring("column 7: expected ')' at the end"));
  CHECK_THAT(parse_complaint("a b"), ContainsSubstring("column 3: unexpected 'b'"));
  CHECK_THAT(parse_complaint("a = b"), ContainsSubstring("comparison is written '=='"));
  CHECK_THAT(parse_complaint("a @ b"), ContainsSubstring("column 3: unexpected character '@'"));
  CHECK_THAT(parse_complaint("1.5.2 * a"), ContainsSubstring("'1.5.2' is no number"));
  CHECK_THAT(parse_complaint("1e999"), ContainsSubstring("'1e999' is no number"));
  CHECK_THAT(parse_complaint("12ab"), ContainsSubstring("'12ab' is not an integer"));
  CHECK_THAT(parse_complaint("9223372036854775808"), ContainsSubstring("does not fit 64 bits"));
  CHECK_THAT(parse_complaint("'open"), ContainsSubstring("string without an end"));
  CHECK_THAT(parse_complaint("cbrt(a)"), ContainsSubstring("unknown function 'cbrt'"));
  CHECK_THAT(parse_complaint("ceil_div(a)"), ContainsSubstring("ceil_div takes 2 arguments, not 1"));
  CHECK_THAT(parse_complaint("pow2()"), ContainsSubstring("pow2 takes 1 argument, not 0"));
  CHECK_THAT(parse_complaint("a in b"), ContainsSubstring("expected a list"));
  CHECK_THAT(parse_complaint("a ? b"), ContainsSubstring("expected ':'"));
  CHECK_THAT(parse_complaint(""), ContainsSubstring("expected a value"));
  CHECK_THAT(parse_complaint("and"), ContainsSubstring("expected a value, found 'and'"));
  CHECK_THAT(parse_complaint("a not b"), ContainsSubstring("expected 'in' after 'not'"));
}

TEST_CASE("reals are computed with where one operand is a real") {
  CHECK(value_of("7 / 2") == "3");
  CHECK(value_of("7 / 2.0") == "3.5");
  CHECK(value_of("1e-5") == "1e-05");
  CHECK(value_of("2.0 * 2") == "4.0");
  CHECK(value_of("0.5 < 1 && 1.0 == 1") == "true");
  CHECK(value_of("max(1, 2.5)") == "2.5");
  CHECK(value_of("sqrt(16)") == "4.0");
  CHECK(value_of("rsqrt(64) == 0.125") == "true");
  CHECK(value_of("pow(2, -1) + exp(0) + log(1) + real(3)") == "4.5");
  CHECK_THAT(evaluation_complaint("sqrt(0 - 1)"), ContainsSubstring("sqrt of -1: must not be negative"));
  CHECK_THAT(evaluation_complaint("1.0 / 0"), ContainsSubstring("division by zero"));
  CHECK_THAT(evaluation_complaint("exp(1000)"), ContainsSubstring("is no finite number"));
  CHECK_THAT(evaluation_complaint("5.0 % 2"), ContainsSubstring("a real number stands where an integer is needed"));
}

TEST_CASE("a text is repeated with the numbers of a range") {
  CHECK(value_of("numbered(0, 3, '%{}', ', ')") == "%0, %1, %2");
  CHECK(value_of("numbered(8, 10, 'd[{}] = d[{} + 1];', ' ')") == "d[8] = d[8 + 1]; d[9] = d[9 + 1];");
  CHECK(value_of("numbered(2, 2, '{}', ', ')").empty());
  CHECK(value_of("numbered(0, 2, 'x', '') == 'xx'") == "true");
  CHECK_THAT(evaluation_complaint("numbered(0, 2, 3, '')"), ContainsSubstring("an integer stands where a string is"));
  CHECK_THAT(evaluation_complaint("numbered(0, 'x', '', '')"), ContainsSubstring("stands where a number is needed"));
  CHECK_THAT(parse_complaint("numbered(4, '{}')"), ContainsSubstring("numbered takes 4 arguments, not 2"));
}

TEST_CASE("text that a range makes is bounded, even if it is empty") {
  const std::string most = "9223372036854775807";
  CHECK_THAT(evaluation_complaint("numbered(0, 1000, '{} {}', ', ')"), ContainsSubstring("more than 4096 characters"));
  CHECK_THAT(evaluation_complaint("numbered(-" + most + ", " + most + ", '', '')"),
             ContainsSubstring("more than 4096 characters"));
}

TEST_CASE("text becomes neither C++ nor Python, but what is compared with it may") {
  const auto text = parse("numbered(0, n, '{}', '')");
  CHECK_THAT(complaint_of([&] { expr::to_cpp(text, {}); }), ContainsSubstring("text cannot become C++"));
  CHECK_THAT(complaint_of([&] { expr::to_python(text, {}); }), ContainsSubstring("text is not written as Python"));
  CHECK(expr::to_cpp(parse("numbered(0, 2, '{}', '') == '01' ? S : B"), {}) == "S");
}

TEST_CASE("depth and length are bounded") {
  CHECK_THAT(parse_complaint(std::string(2000, '(') + "a" + std::string(2000, ')')),
             ContainsSubstring("nested deeper"));
  CHECK_THAT(parse_complaint(std::string(3000, '-') + "a"), ContainsSubstring("nested deeper"));
  CHECK_THAT(parse_complaint(std::string(5000, 'a')), ContainsSubstring("the limit is 4096"));
  // One limit for all that surrounds a value, each level counted once.
  for (const char* around : {"(", "-", "!", "not ", "min(", "a ? b : ", "2 ** "}) {
    INFO(around);
    const bool closes = std::string_view(around).ends_with('(');
    const auto nested = [&](int levels) {
      std::string text;
      for (int i = 1; i < levels; ++i) text += around;
      return text + "c" + (closes ? std::string(static_cast<std::size_t>(levels - 1), ')') : "");
    };
    CHECK(parse_complaint(nested(200)) == "");
    CHECK_THAT(parse_complaint(nested(201)), ContainsSubstring("nested deeper than 200 levels"));
  }
  std::string power = "a";
  for (int i = 0; i < 30; ++i) power = "(" + power + " ** 2)";
  CHECK_THAT(parse_complaint(power), ContainsSubstring("more than 10000 operations"));
  CHECK(parse_complaint("(a ** 62) ** 62") == "");
  std::string sum = "a";
  for (int i = 0; i < 1000; ++i) sum += "+a";
  CHECK_THAT(parse_complaint(sum), ContainsSubstring("nested deeper"));
}

TEST_CASE("names are listed once and sorted") {
  CHECK(parse("b + a * b + min(c, a)").names() == std::vector<std::string>{"a", "b", "c"});
  CHECK(parse("1 + 2").names().empty());
}

TEST_CASE("partial evaluation decides as soon as the known names do") {
  const auto partial = [](std::string_view text) -> std::string {
    const auto value = parse(text).evaluate_partially(kKnownNames);
    return value ? expr::to_string(*value) : "?";
  };
  CHECK(partial("no && x") == "false");
  CHECK(partial("x && no") == "false");
  CHECK(partial("x || yes") == "true");
  CHECK(partial("x && yes") == "?");
  CHECK(partial("x ? 5 : 5") == "5");
  CHECK(partial("x ? 5 : 6") == "?");
  CHECK(partial("9 < a < x") == "false");
  CHECK(partial("x < 5 < 4") == "false");
  CHECK(partial("a in (x, 7)") == "true");
  CHECK(partial("a in (x, 8)") == "?");
  CHECK(partial("x > 0 && a / x > 1") == "?");
  CHECK(partial("x && a / zero") == "?");
  CHECK(partial("a + 1") == "8");
}

TEST_CASE("partial evaluation never contradicts full evaluation") {
  Rng rng(20240517);
  const std::vector<std::string> names = {"p", "q", "r", "s"};
  int decided = 0;
  int failed = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Expression expression = parse(random_expression(rng, names, 4));
    Bindings all;
    Bindings some;
    for (const std::string& name : names) {
      all[name] = name == "s" ? Value(rng.below(2) == 1) : number(static_cast<std::int64_t>(rng.below(11)) - 3);
      if (rng.below(2)) some[name] = all[name];
    }
    std::optional<Value> full;
    if (complaint_of([&] { full = expression.evaluate(all); }) != "") ++failed;
    std::optional<Value> partial;
    const bool refused = !complaint_of([&] { partial = expression.evaluate_partially(some); }).empty();
    INFO(expression.text());
    if (refused) CHECK(!full);
    if (partial && full) CHECK(*partial == *full);
    if (partial && some.size() < all.size()) ++decided;
    CHECK(complaint_of([&] { partial = expression.evaluate_partially(all); }).empty() == full.has_value());
    if (full) CHECK(partial == full);
  }
  CHECK(decided > 1000);
  CHECK(failed > 1000);
}

TEST_CASE("expressions become C++ with the known names folded in") {
  const Bindings known = {
      {"tile", number(64)}, {"split", number(4)}, {"causal", false}, {"layout", std::string("xor")}};
  const auto cpp = [&](std::string_view text) { return expr::to_cpp(parse(text), known); };
  CHECK(cpp("S") == "S");
  CHECK(cpp("tile * split") == "256LL");
  CHECK(cpp("B * H + tile") == "((B * H) + 64LL)");
  CHECK(cpp("ceil_div(S, tile)") == "(S / 64LL + (S > 0 && S % 64LL != 0))");
  CHECK(cpp("S // tile") == "(S / 64LL - (S % 64LL != 0 && (S < 0) != (64LL < 0)))");
  CHECK(cpp("min(S, tile, B)") == "((S < 64LL ? S : 64LL) < B ? (S < 64LL ? S : 64LL) : B)");
  CHECK(cpp("pow2(S)") == "(S > 0 && (S & (S - 1)) == 0)");
  CHECK(cpp("log2(S)") == "(63LL - __builtin_clzll(static_cast<unsigned long long>(S)))");
  CHECK(cpp("split > 1 && S > 8") == "(S > 8LL)");
  CHECK(cpp("S > 8 || causal") == "(S > 8LL)");
  CHECK(cpp("split > 1 && S") == "(S != 0)");
  CHECK(cpp("(S - B) || causal") == "((S - B) != 0)");
  CHECK(cpp("split > 1 && (S > 8 ? S : 0)") == "(((S > 8LL) ? S : 0LL) != 0)");
  CHECK(cpp("split > 1 && (S > 8 ? S < 9 : pow2(B))") == "((S > 8LL) ? (S < 9LL) : (B > 0 && (B & (B - 1)) == 0))");
  CHECK(cpp("causal && S > 8") == "false");
  CHECK(cpp("split > 1 ? S : B") == "S");
  CHECK(cpp("S > 8 ? S : -B") == "((S > 8LL) ? S : (-B))");
  CHECK(cpp("0 < S <= tile") == "((0LL < S) && (S <= 64LL))");
  CHECK(cpp("S in (1, 2)") == "((S == 1LL) || (S == 2LL))");
  CHECK(cpp("!(S == B)") == "(!(S == B))");
  CHECK(cpp("layout == 'xor' ? S : 0") == "S");
  CHECK_THAT(complaint_of([&] { cpp("layout"); }), ContainsSubstring("cannot become C++"));
}

TEST_CASE("names that are not known are written as the C++ around them has them") {
  const Bindings known = {{"tile", number(64)}};
  CHECK(to_cpp(parse("bytes * S + tile"), known, {{"bytes", "derived_bytes"}, {"tile", "never"}}) ==
        "((derived_bytes * S) + 64LL)");
}

TEST_CASE("integers next to real numbers are cast to double in C++") {
  const Bindings known = {{"tile", number(64)}, {"half", 0.5}};
  const auto cpp = [&](std::string_view text) { return to_cpp(parse(text), known, {}, {"scale"}); };
  CHECK(cpp("S * half") == "(static_cast<double>(S) * 0.5)");
  CHECK(cpp("scale * (S + tile)") == "(scale * static_cast<double>((S + 64LL)))");
  CHECK(cpp("rsqrt(S)") == "(1.0 / std::sqrt(static_cast<double>(S)))");
  CHECK(cpp("max(S, 1.5)") == "(static_cast<double>(S) > 1.5 ? static_cast<double>(S) : 1.5)");
  CHECK(cpp("S > 8 ? S : half") == "((S > 8LL) ? static_cast<double>(S) : 0.5)");
  CHECK(cpp("0.5 < S < B") == "((0.5 < static_cast<double>(S)) && (S < B))");
  CHECK(cpp("S > half ? 1 : 2") == "((static_cast<double>(S) > 0.5) ? 1LL : 2LL)");
  CHECK(expr::is_real_in_cpp(parse("S / sqrt(B)"), known));
  CHECK_FALSE(expr::is_real_in_cpp(parse("S * tile > 2.5"), known));
}

TEST_CASE("an expression that would be too long as C++ is refused before it is written") {
  // Each operand of min, max or `in` and each level of ceil_div repeats what stands before it: 2^60 letters here.
  std::string many = "x";
  std::string nested = "x";
  std::string listed = "1";
  for (int i = 0; i < 60; ++i) {
    many += ", x";
    nested = i < 20 ? "ceil_div(" + nested + ", x)" : nested;
    listed += ", 1";
  }
  const std::string deep = "max(" + many + ") in (" + listed + ")";
  for (const std::string& text : {"min(" + many + ")", "max(" + many + ")", nested, deep}) {
    INFO(text);
    CHECK_THAT(complaint_of([&] { expr::to_cpp(parse(text), {}); }), ContainsSubstring("too long as C++"));
  }
}

TEST_CASE("an expression is written as Python with what is known folded into it") {
  const Bindings known = {{"layout", std::string("nk")}, {"tile", std::int64_t{64}}, {"scale", 0.5}};
  const auto python = [&](std::string_view text) { return expr::to_python(Expression::parse(text), known); };
  CHECK(python("layout == 'nk' ? N : K") == "N");
  CHECK(python("ceil_div(S, tile)") == "(-(-S // 64))");
  CHECK(python("S / 2 + min(S, D, 8)") == "((S // 2) + min(S, D, 8))");
  CHECK(python("S * scale / 2") == "((S * 0.5) / 2)");
  CHECK(python("M % 8 == 0 && layout == 'nk'") == "((M % 8) == 0)");
  CHECK(python("M <= N && !(D in (64, 128)) || 1 < M < N") ==
        "(((M <= N) and (not (D in (64, 128,)))) or (1 < M < N))");
  CHECK(python("causal ? M : N") == "(M if causal else N)");
  CHECK(python("pow2(S) && log2(S) > 3") == "((S > 0 and (S & (S - 1)) == 0) and (((S).bit_length() - 1) > 3))");
  CHECK(expr::python_literal(std::string("a \"b\" \\")) == "\"a \\\"b\\\" \\\\\"");
  CHECK(expr::python_literal(true) == "True");
}
