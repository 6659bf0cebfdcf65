#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// Where the lines of a rendered template come from. Compilers and sanitisers name lines of the rendered text; people
/// want those of the file that they wrote.
class LineMap {
 public:
  struct Origin {
    std::string file;  ///< "fp8_sdpa/mma_sync/kernel.cu"
    std::size_t line = 0;
    friend bool operator==(const Origin&, const Origin&) = default;
  };

  /// Says where a line of the rendered text, counted from 1, comes from. Lines are added in order.
  void add(std::size_t rendered, std::string_view file, std::size_t line);

  /// Empty where nothing is known of a line.
  std::optional<Origin> origin_of(std::size_t rendered) const;

  /// A message with template files and lines in place of the compiler's: "t/f/kernel.cu:7: error: ..." for
  /// "kernel.cu(12): error: ...", "in t/f/kernel.cu:7" for "in line 12". Lines of headers and of PTX stay.
  std::string translated(std::string_view message) const;

  bool empty() const { return runs_.empty(); }

 private:
  /// Lines that follow each other in the template too.
  struct Run {
    std::size_t rendered = 0;
    std::size_t file = 0;
    std::size_t line = 0;
  };

  std::string translated_line(std::string_view line, bool of_header) const;

  std::vector<std::string> files_;
  std::vector<Run> runs_;
};

}  // namespace evo
