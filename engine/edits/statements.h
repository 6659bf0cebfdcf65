#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// A part of a text.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;  ///< Behind the last character.

  std::size_t size() const { return end - begin; }
  bool holds(std::size_t place) const { return begin <= place && place < end; }
  std::string_view of(std::string_view text) const { return text.substr(begin, end - begin); }
  friend bool operator==(const TextRange&, const TextRange&) = default;
};

struct Statement;

/// Statements that follow each other.
struct Block {
  TextRange range;  ///< What stands between the braces.
  bool braced = true;
  std::vector<Statement> statements;
};

/// A statement of CUDA C++.
struct Statement {
  enum class Kind {
    simple,  ///< Ends with ';'.
    loop,
    branch,
    block,
    other,  ///< A switch: nothing is known of its parts.
  };
  Kind kind = Kind::simple;
  TextRange range;            ///< A loop's begins at its `#pragma unroll`.
  TextRange keyword = {};     ///< "for", "while", "do", "if", "if constexpr".
  TextRange head = {};        ///< Of a loop or branch: what stands in its brackets.
  std::vector<Block> blocks;  ///< Its parts: a loop has one, a branch one or two.
};

/// A function with a body.
struct FunctionText {
  TextRange parameters;  ///< What stands in the brackets.
  Block body;
};

/// What can be told of a source's structure without a compiler.
struct SourceStructure {
  /// The source with blanks for comments, texts and preprocessor lines, and with '$' for the characters of template
  /// holes, `${...}` and `@name@`. Places are those of the source.
  std::string code;
  std::vector<FunctionText> functions;  ///< Those that can be cut into statements.
  std::vector<std::size_t> directives;  ///< Where lines of templates (`//%`) and of the preprocessor begin.

  /// Whether a part has lines of directives in it, which say whether the lines around them are there.
  bool has_directive(TextRange range) const;
};

/// Cuts the functions of a kernel's source, or of a template of one, into statements. A function that is not understood
/// is left out.
SourceStructure structure_of(std::string_view source);

}  // namespace evo
