#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace evo::vgpu::ptx {

/// A cursor over PTX text that skips blanks and comments.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  bool at_end();
  char peek();             ///< The next character that is not blank; 0 at the end.
  bool take(char wanted);  ///< Consumes `wanted` if it is the next character.
  void expect(char wanted);
  bool starts_identifier();
  std::string_view identifier();   ///< Letters, digits, _ $ %; throws when there is none.
  std::string_view directive();    ///< A dot and a name, without the dot: "reg", "f32", "shared::cta".
  std::string_view take_suffix();  ///< The same directly after the last token; empty when there is none.
  std::string_view string_literal();
  bool starts_number();

  struct Number {
    enum class Kind : std::uint8_t { integer, f32, f64 };
    Kind kind = Kind::integer;
    std::uint64_t bits = 0;
  };
  Number number();                   ///< Decimal, hex, octal, binary, 0f, 0d, decimal fractions; an optional minus.
  std::uint64_t unsigned_integer();  ///< A number that must be a non-negative integer.

  std::string_view rest_of_line();
  void skip_statement();  ///< Up to and including the next ';'.
  void skip_block();      ///< A {...} with nested blocks.

  std::uint32_t line() const { return line_; }
  [[noreturn]] void fail(const std::string& what) const;  ///< Throws LoadError naming the PTX line.

 private:
  void skip_blanks();
  bool skip_comment();
  std::uint64_t digits(int base, int most);

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace evo::vgpu::ptx
