#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// A word, a number or an operator of code.
struct CodeToken {
  std::size_t begin = 0;  ///< Its offset.
  std::string_view text;
};

/// Tokens from `first` up to `last`, which is not among them.
struct TokenRange {
  std::size_t first = 0, last = 0;
};

/// One variable of a declaration.
struct Declarator {
  std::string name;
  TokenRange range;          ///< Behind the type, without the comma.
  std::size_t pointers = 0;  ///< Stars ahead of the name.
  TokenRange extents;        ///< "[4][8]"
  TokenRange initial;        ///< What stands behind '=', in ( ) or in { }.
  char opened_by = 0;        ///< One of = ( {; 0: there is no initial value.
};

/// A statement of C++, as far as transformations of kernels look into it.
struct KernelStatement {
  enum class Kind : std::uint8_t {
    block,        ///< `parts`: its statements.
    declaration,  ///< `type`, `declarators`.
    expression,   ///< Also the empty statement.
    loop,         ///< for; `head` is what stands in ( ), `parts` its body.
    choice,       ///< if; `head` its condition, `parts` what follows, and what follows else.
    leave,        ///< return, break, continue.
    whole,        ///< while, do, switch.
  };
  Kind kind = Kind::expression;
  TokenRange range;    ///< All of it, its prefix included.
  std::string prefix;  ///< Macros of unrolling ahead of a loop.
  TokenRange head;
  TokenRange type;
  std::vector<Declarator> declarators;
  std::vector<KernelStatement> parts;
};

/// Code that a transformation does not understand, and leaves as it is.
struct NotUnderstood : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// `code`: without comments and directives. Operators of several characters are one token.
std::vector<CodeToken> code_tokens(std::string_view code);

/// Where the bracket that is opened by token `open` is closed. Throws NotUnderstood.
std::size_t closing_token(const std::vector<CodeToken>& tokens, std::size_t open);

/// The statements among the tokens of a range. Throws NotUnderstood: labels, lambdas, types of
/// their own, asm, try, a hundred statements within each other.
std::vector<KernelStatement> kernel_statements(const std::vector<CodeToken>& tokens, TokenRange range);

}  // namespace evo
