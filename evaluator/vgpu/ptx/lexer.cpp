#include "evaluator/vgpu/ptx/lexer.h"

#include <bit>
#include <cctype>
#include <charconv>

#include "evaluator/vgpu/ptx/load_error.h"

namespace evo::vgpu::ptx {
namespace {

bool in_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

}  // namespace

void Lexer::fail(const std::string& what) const {
  throw LoadError("PTX line " + std::to_string(line_) + ": " + what);
}

bool Lexer::skip_comment() {
  if (at_ + 1 >= text_.size() || text_[at_] != '/') return false;
  if (text_[at_ + 1] == '/') {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    return true;
  }
  if (text_[at_ + 1] != '*') return false;
  at_ += 2;
  while (at_ + 1 < text_.size() && !(text_[at_] == '*' && text_[at_ + 1] == '/')) {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }
  at_ = at_ + 2 < text_.size() ? at_ + 2 : text_.size();
  return true;
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0') {
      ++at_;
    } else if (!skip_comment()) {
      return;
    }
  }
}

bool Lexer::at_end() {
  skip_blanks();
  return at_ >= text_.size();
}

char Lexer::peek() {
  return at_end() ? '\0' : text_[at_];
}

bool Lexer::take(char wanted) {
  if (peek() != wanted) return false;
  ++at_;
  return true;
}

void Lexer::expect(char wanted) {
  if (take(wanted)) return;
  if (at_end()) fail(std::string("the text ends where '") + wanted + "' is expected");
  fail(std::string("'") + wanted + "' expected before '" + std::string(text_.substr(at_, 12)) + "'");
}

bool Lexer::starts_identifier() {
  const char c = peek();
  return in_identifier(c) && !(c >= '0' && c <= '9');
}

std::string_view Lexer::identifier() {
  if (!starts_identifier()) fail("a name is expected before '" + std::string(text_.substr(at_, 12)) + "'");
  const std::size_t begin = at_;
  while (at_ < text_.size() && in_identifier(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view Lexer::directive() {
  expect('.');
  const std::size_t begin = at_;
  while (at_ < text_.size() && (in_identifier(text_[at_]) || text_[at_] == ':')) ++at_;
  if (at_ == begin) fail("a name is expected after '.'");
  return text_.substr(begin, at_ - begin);
}

std::string_view Lexer::take_suffix() {
  if (at_ + 1 >= text_.size() || text_[at_] != '.' || !in_identifier(text_[at_ + 1])) return {};
  return directive();
}

std::string_view Lexer::string_literal() {
  expect('"');
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') ++at_;
  if (at_ >= text_.size() || text_[at_] != '"') fail("a string does not end");
  return text_.substr(begin, at_++ - begin);
}

bool Lexer::starts_number() {
  const char c = peek();
  if (c == '-') return at_ + 1 < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_ + 1]));
  return c >= '0' && c <= '9';
}

std::uint64_t Lexer::digits(int base, int most) {
  std::uint64_t value = 0;
  int count = 0;
  for (; at_ < text_.size() && digit_of(text_[at_]) < base; ++at_, ++count) {
    if (count >= most) fail("a number has too many digits");
    value = value * static_cast<std::uint64_t>(base) + static_cast<std::uint64_t>(digit_of(text_[at_]));
  }
  if (count == 0) fail("digits are expected");
  return value;
}

Lexer::Number Lexer::number() {
  const bool minus = take('-');
  skip_blanks();
  if (at_ >= text_.size()) fail("a number is expected");
  const char second = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  Number result;
  if (text_[at_] == '0' && (second == 'f' || second == 'F')) {
    at_ += 2;
    result = {Number::Kind::f32, digits(16, 8)};
    if (minus) result.bits ^= 0x80000000u;
    return result;
  }
  if (text_[at_] == '0' && (second == 'd' || second == 'D')) {
    at_ += 2;
    result = {Number::Kind::f64, digits(16, 16)};
    if (minus) result.bits ^= 1ull << 63;
    return result;
  }
  if (text_[at_] == '0' && (second == 'x' || second == 'X')) {
    at_ += 2;
    result.bits = digits(16, 16);
  } else if (text_[at_] == '0' && (second == 'b' || second == 'B')) {
    at_ += 2;
    result.bits = digits(2, 64);
  } else {
    std::size_t end = at_;
    while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end]))) ++end;
    const bool fraction = end < text_.size() && (text_[end] == '.' || text_[end] == 'e' || text_[end] == 'E');
    if (fraction) {
      double value = 0;
      const auto parsed = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (parsed.ec != std::errc{}) fail("a malformed number");
      at_ = static_cast<std::size_t>(parsed.ptr - text_.data());
      return {Number::Kind::f64, std::bit_cast<std::uint64_t>(minus ? -value : value)};
    }
    result.bits = text_[at_] == '0' ? digits(8, 23) : digits(10, 20);
  }
  if (at_ < text_.size() && text_[at_] == 'U') ++at_;
  if (minus) result.bits = 0 - result.bits;
  return result;
}

std::uint64_t Lexer::unsigned_integer() {
  if (!starts_number() || peek() == '-') fail("a non-negative integer is expected");
  const Number value = number();
  if (value.kind != Number::Kind::integer) fail("an integer is expected");
  return value.bits;
}

std::string_view Lexer::rest_of_line() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  return text_.substr(begin, at_ - begin);
}

void Lexer::skip_statement() {
  while (!at_end()) {
    if (text_[at_] == '"') {
      string_literal();
    } else if (text_[at_++] == ';') {
      return;
    }
  }
  fail("the text ends inside a statement");
}

void Lexer::skip_block() {
  expect('{');
  for (int depth = 1; depth > 0;) {
    if (at_end()) fail("the text ends inside a block");
    if (text_[at_] == '"') {
      string_literal();
      continue;
    }
    if (text_[at_] == '{') ++depth;
    if (text_[at_] == '}') --depth;
    ++at_;
  }
}

}  // namespace evo::vgpu::ptx
