#include "tests/fuzz/mutation.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace evo::fuzz {
namespace {

constexpr std::size_t kMostBytes = 1 << 16;

constexpr std::array<std::string_view, 22> kWords = {"0",
                                                     "-1",
                                                     "2147483648",
                                                     "9223372036854775807",
                                                     "-9223372036854775808",
                                                     "18446744073709551616",
                                                     "1e308",
                                                     "1e-320",
                                                     "nan",
                                                     "null",
                                                     "true",
                                                     "\"\"",
                                                     "[]",
                                                     "{}",
                                                     "\x1b[2J",
                                                     "\xc2\x9b",
                                                     "\xff",
                                                     std::string_view("\0", 1),
                                                     "../x",
                                                     "\\u0000",
                                                     "\r\n",
                                                     "%"};

std::size_t below(Random& random, std::size_t count) {
  return count == 0 ? 0 : random() % count;
}

/// A part of a text.
struct Piece {
  std::size_t begin = 0, size = 0;
};

Piece line_at(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? text.npos : text.rfind('\n', at - 1);
  const std::size_t begin = before == text.npos ? 0 : before + 1;
  const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
  return {begin, std::max(end, begin) - begin};
}

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
}

/// A word with what stands before it: ".f32", "%tid", "7".
Piece word_at(std::string_view text, std::size_t at) {
  while (at < text.size() && !in_word(text[at])) ++at;
  std::size_t begin = at, end = at;
  while (begin > 0 && in_word(text[begin - 1])) --begin;
  while (end < text.size() && in_word(text[end])) ++end;
  if (begin > 0 && (text[begin - 1] == '.' || text[begin - 1] == '%')) --begin;
  return {begin, end - begin};
}

/// From the first bracket or quote behind a place to its other end.
Piece bracket_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kOpen = "[{(\"", kClosed = "]})\"";
  const std::size_t begin = text.find_first_of(kOpen, at);
  if (begin == text.npos) return {};
  const char open = text[begin], closed = kClosed[kOpen.find(open)];
  int depth = 1;
  for (std::size_t end = begin + 1; end < text.size(); ++end) {
    if (text[end] == closed)
      --depth;
    else if (text[end] == open)
      ++depth;
    if (depth == 0) return {begin, end + 1 - begin};
  }
  return {};
}

char kind_of(std::string_view word) {
  if (word.empty()) return ' ';
  if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) return '0';
  return std::isalpha(static_cast<unsigned char>(word[0])) != 0 ? 'a' : word[0];
}

/// Puts a piece of the donor in the place of one of its kind, or before it.
void splice(std::string& text, std::string_view donor, Random& random) {
  const std::size_t to = below(random, text.size()), from = below(random, donor.size());
  if (text.empty() || donor.empty()) return;
  const std::size_t kind = below(random, 4);
  const auto piece_at = kind == 0 ? line_at : kind == 1 ? bracket_at : word_at;
  const Piece old = piece_at(text, to), fresh = piece_at(donor, from);
  const std::string_view inserted = donor.substr(fresh.begin, fresh.size);
  if (kind > 1 && kind_of(std::string_view(text).substr(old.begin, old.size)) != kind_of(inserted)) return;
  text.replace(old.begin, below(random, 4) == 0 ? 0 : old.size, inserted);
}

void lose(std::string& text, Random& random) {
  const std::size_t at = below(random, text.size());
  const std::array<Piece, 4> pieces = {line_at(text, at), bracket_at(text, at), word_at(text, at),
                                       Piece{at, std::size_t{1} << below(random, 8)}};
  const Piece lost = pieces[below(random, pieces.size())];
  text.erase(lost.begin, lost.size);
}

void change(std::string& text, const std::string& donor, Random& random) {
  const std::size_t at = below(random, text.size());
  switch (below(random, 8)) {
    case 0:
      text[at] = static_cast<char>(text[at] ^ (1 << below(random, 8)));
      break;
    case 1:
      lose(text, random);
      break;
    case 2: {
      const Piece old = word_at(text, at);
      text.replace(old.begin, old.size, kWords[below(random, kWords.size())]);
      break;
    }
    case 3:
      text.insert(at, kWords[below(random, kWords.size())]);
      break;
    case 4: {
      const std::string piece = text.substr(at, std::size_t{1} << below(random, 10));
      for (std::size_t i = below(random, 8); i > 0; --i) text.insert(at, piece);
      break;
    }
    default:
      splice(text, donor, random);
  }
}

}  // namespace

std::string mutated(std::string text, const std::vector<std::string>& donors, Random& random) {
  for (std::size_t changes = 1 + below(random, 4); changes > 0; --changes) {
    if (text.empty()) text = " ";
    change(text, donors[below(random, donors.size())], random);
  }
  if (text.size() > kMostBytes) text.resize(kMostBytes);
  return text;
}

}  // namespace evo::fuzz
