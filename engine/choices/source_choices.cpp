#include "engine/choices/source_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>
#include <regex>
#include <set>

#include "engine/base/brackets.h"
#include "engine/base/comments.h"
#include "engine/base/error.h"
#include "engine/base/stretches.h"
#include "engine/base/text.h"
#include "engine/choices/coarse_kernel.h"
#include "engine/choices/kernel_place.h"
#include "engine/device/device_limits.h"
#include "engine/expression/expression.h"
#include "engine/short_form/own_words.h"
#include "engine/source/kernel_functions.h"
#include "engine/source/preprocessor_lines.h"
#include "engine/source/source_mutation.h"
#include "engine/task/family.h"

namespace evo {
namespace {

/// Beyond these a search among all at once finds little; the first of the source are taken.
constexpr std::size_t kMostLoops = 8;
constexpr std::size_t kMostArrays = 4;
/// Beyond so many characters without ; { } no choices are looked for: std::regex takes of the stack for each.
constexpr std::size_t kLongestLookedAt = 50'000;
/// An unroll factor that stands for `#pragma unroll` alone.
constexpr std::int64_t kWholeLoop = 1024;

std::vector<Value> numbers(std::initializer_list<std::int64_t> list) {
  return {list.begin(), list.end()};
}

/// The values with one more, ascending.
std::vector<Value> with_own(std::vector<Value> values, std::int64_t own) {
  values.emplace_back(own);
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  return values;
}

/// A quarter to four times the author's number.
std::vector<Value> around(std::int64_t own) {
  std::vector<Value> values;
  for (const std::int64_t divisor : {4, 2})
    if (own % divisor == 0 && own / divisor > 0) values.emplace_back(own / divisor);
  for (const std::int64_t factor : {2, 4}) values.emplace_back(own * factor);
  return with_own(std::move(values), own);
}

bool is_whole_number(std::string_view text) {
  return !text.empty() && text.size() < 10 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
}

/// A word, or a number, where it stands alone in a text.
std::regex word(const std::string& text) {
  return std::regex(fmt::format(R"(\b{}\b)", text));
}

/// The grid with a gene in the place of the threads along an axis of the block: in the same axis of the grid, else,
/// where no other axis has as many threads, in all. An extent that is a number alone stays.
void follow_block(std::vector<std::string>& grid, const std::vector<std::string>& block, std::size_t axis,
                  const std::string& gene) {
  const std::regex threads = word(block[axis]);
  const auto depends = [&](const std::string& extent) {
    return !is_whole_number(extent) && std::regex_search(extent, threads);
  };
  const bool same_axis = axis < grid.size() && depends(grid[axis]);
  if (!same_axis && std::ranges::count(block, block[axis]) > 1) return;
  for (std::size_t i = 0; i < grid.size(); ++i)
    if (depends(grid[i]) && (!same_axis || i == axis)) grid[i] = std::regex_replace(grid[i], threads, gene);
}

class Finder {
 public:
  Finder(const std::string& source, const LaunchLine& launch, const std::vector<std::string>& sizes)
      : source_(source), code_(code_only(source)), sizes_(sizes.begin(), sizes.end()) {
    if (longest_stretch(code_) > kLongestLookedAt)
      throw usage_error(
          fmt::format("the file has more than {} characters, comments included, without ; {{ }} between them: "
                      "put what is no code into another file",
                      kLongestLookedAt));
    found_.launch = launch;
    for (std::size_t at = 0; at < source.size(); ++at)
      if (source[at] == '\n') line_starts_.push_back(at + 1);
    find_kernel();
  }

  KernelChoices find() {
    constants();
    block();
    loops();
    blocks_on_an_sm();
    pointers();
    padding();
    fast_math();
    found_.source = edited_source();
    several_blocks();
    return std::move(found_);
  }

 private:
  struct Edit {
    std::size_t offset, length;
    std::string text;
  };

  int line_of(std::size_t offset) const {
    return static_cast<int>(std::ranges::upper_bound(line_starts_, offset) - line_starts_.begin());
  }
  std::size_t offset_of(int line) const { return line_starts_[static_cast<std::size_t>(line) - 1]; }
  std::string_view line_text(int line) const {
    const std::size_t begin = offset_of(line);
    return std::string_view(source_).substr(begin, source_.find('\n', begin) - begin);
  }
  void replace(std::size_t offset, std::size_t length, std::string text) {
    edits_.push_back({offset, length, std::move(text)});
  }
  void offer(std::string gene, int line, std::string what, std::vector<Value> values, Value own) {
    found_.choices.push_back({std::move(gene), line, std::move(what), std::move(values), std::move(own)});
  }

  void find_kernel() {
    name_ = found_.launch.kernel.substr(0, found_.launch.kernel.find('<'));
    name_ = name_.substr(name_.rfind(':') + 1);  // npos + 1 is the beginning
    const std::optional<KernelPlace> place = evo::find_kernel(code_, name_);
    if (!place)
      throw usage_error(
          fmt::format("the file has no kernel {}{}", name_, suggestion(name_, kernel_functions(source_))));
    place_ = *place;
  }

  // ---- Constants

  /// Whether a name decides how far a loop goes, how large an array is, or what is launched.
  bool reaches(const std::string& name) const {
    const std::regex named = word(name);
    const LaunchLine& launch = found_.launch;
    for (const std::vector<std::string>* texts : {&launch.grid, &launch.block, &launch.arguments})
      if (std::ranges::any_of(*texts, [&](const std::string& text) { return std::regex_search(text, named); }))
        return true;
    for (std::sregex_iterator at(code_.begin(), code_.end(), named), end; at != end; ++at)
      if (is_bound(static_cast<std::size_t>(at->position()))) return true;
    for (int line = 1; line <= static_cast<int>(line_starts_.size()); ++line)
      if (const std::string text(line_text(line));
          directive_text(text, "pragma") != "" && std::regex_search(text, named))
        return true;
    return false;
  }

  /// Whether a place of the code is in the head of a loop, in an index or a size, or in launch bounds.
  bool is_bound(std::size_t offset) const {
    int depth = 0;
    for (std::size_t at = offset; at-- > 0;) {
      const char c = code_[at];
      if (c == ')' || c == ']') ++depth;
      if (c == '{' || c == '}') return false;
      if ((c == '(' || c == '[') && depth-- > 0) continue;
      if (c == '[') return true;
      if (c != '(') continue;
      depth = 0;
      const std::string_view before = trim(std::string_view(code_).substr(0, at));
      for (const std::string_view head : {"for", "while", "__launch_bounds__"})
        if (before.ends_with(head)) return true;
    }
    return false;
  }

  /// Whether a name can be a macro: no word of the languages, and used for the constant alone.
  bool may_be_macro(const std::string& name) const {
    if (sizes_.contains(name) || is_cuda_word(name) || expr::is_reserved(name) ||
        facts_of(DeviceLimits{}).contains(name))
      return false;
    const std::regex other(fmt::format(R"((?:\.|->|::)\s*{0}\b|#\s*undef\s+{0}\b)", name));
    if (std::regex_search(source_, other)) return false;
    const std::regex declared(fmt::format(
        R"(\b(?:int|unsigned|long|short|char|bool|float|double|auto|size_t|u?int(?:32|64)_t|typename|class)\s+{0}\b|#\s*define\s+{0}\b)",
        name));
    return std::distance(std::sregex_iterator(source_.begin(), source_.end(), declared), {}) == 1;
  }

  /// `length`: of the text that declares it, which goes; 0: it stays, because a macro has precedence.
  void constant(const std::string& name, std::int64_t own, std::size_t offset, std::size_t length) {
    if (own < 1 || !may_be_macro(name) || !reaches(name)) return;
    replace(offset, length, std::string(length, ' '));
    offer(name, line_of(offset), fmt::format("the constant {}", name), around(own), own);
  }

  void constants() {
    static const std::regex definition(R"(\s*#\s*define\s+([A-Za-z_]\w*)\s+\(?(\d{1,6})[uU]?\)?\s*)");
    std::vector<std::string> conditions;  // Around the line, the outermost first.
    bool in_comment = false;
    for (int line = 1; line <= static_cast<int>(line_starts_.size()); ++line) {
      const std::string plain = without_comments(line_text(line), in_comment);
      if (directive_text(plain, "if") != "") conditions.emplace_back(directive_text(plain, "if"));
      if (trim(plain).starts_with('#') && plain.find("endif") != std::string::npos && !conditions.empty())
        conditions.pop_back();
      std::smatch found;
      if (!std::regex_match(plain, found, definition)) continue;
      const bool is_default = conditions.size() == 1 && conditions[0] == "ndef " + found.str(1);
      if (conditions.empty() || is_default)
        constant(found[1], std::stoll(found[2]), offset_of(line), is_default ? 0 : line_text(line).size());
    }
    static const std::regex declaration(
        R"((?:\bstatic\s+)?\b(?:constexpr|const)\s+(?:static\s+)?(?:unsigned\s+int|unsigned|int|(?:std::)?size_t|(?:std::)?u?int(?:32|64)_t)\s+([A-Za-z_]\w*)\s*=\s*(\d{1,6})[uU]?\s*;)");
    for (std::sregex_iterator at(code_.begin(), code_.end(), declaration), end; at != end; ++at)
      constant((*at)[1], std::stoll((*at)[2]), static_cast<std::size_t>(at->position()),
               static_cast<std::size_t>(at->length()));
  }

  // ---- The launch

  void block() {
    static constexpr std::array<const char*, 3> kAxes = {"x", "y", "z"};
    LaunchLine& launch = found_.launch;
    const std::vector<std::string> given = launch.block;
    for (std::size_t i = 0; i < std::min(launch.block.size(), kAxes.size()); ++i) {
      const std::string axis = kAxes[i], own = given[i];
      std::string text = "(" + own + ")";
      if (is_whole_number(own) && own != "1" && code_.find("blockDim." + axis) != std::string::npos) {
        const std::string gene = "block_" + axis;
        const bool one_axis = launch.block.size() == 1;
        offer(gene, 0, fmt::format("threads of a block along {}", axis),
              with_own(one_axis ? numbers({32, 64, 128, 256, 512, 1024}) : numbers({1, 2, 4, 8, 16, 32, 64, 128}),
                       std::stoll(own)),
              std::int64_t{std::stoll(own)});
        launch.block[i] = text = gene;
        follow_block(launch.grid, given, i, gene);
      }
      const std::regex dimension("\\bblockDim\\." + axis + "\\b");
      for (std::string& extent : launch.grid) extent = std::regex_replace(extent, dimension, text);
      launch.shared = std::regex_replace(launch.shared, dimension, text);
    }
    const std::string& grid = launch.grid[0];
    if (launch.grid.size() == 1 && is_whole_number(grid) && code_.find("gridDim.x") != std::string::npos) {
      offer("grid_x", 0, "blocks of the grid", around(std::stoll(grid)), std::int64_t{std::stoll(grid)});
      launch.grid[0] = "grid_x";
    }
  }

  void blocks_on_an_sm() {
    if (code_.substr(place_.global, place_.open - place_.global).find("__launch_bounds__") != std::string::npos) return;
    std::string threads;
    for (const std::string& extent : found_.launch.block) {
      // Of numbers and genes alone: sizes are no constants of the kernel.
      if (!std::ranges::all_of(extent,
                               [](unsigned char c) { return std::isalnum(c) || c == '_' || c == ' ' || c == '*'; }))
        return;
      if (std::ranges::any_of(sizes_, [&](const std::string& size) { return std::regex_search(extent, word(size)); }))
        return;
      threads += (threads.empty() ? "(" : " * (") + extent + ")";
    }
    replace(place_.void_type, 0, "evo_bounds ");
    found_.header += fmt::format(
        "#if min_blocks > 0\n#define evo_bounds __launch_bounds__({}, min_blocks)\n#else\n"
        "#define evo_bounds\n#endif\n",
        threads);
    offer("min_blocks", line_of(place_.global), "least blocks on an SM (__launch_bounds__)",
          numbers({0, 1, 2, 3, 4, 6, 8}), std::int64_t{0});
  }

  // ---- Loops

  void loops() {
    static const std::regex loop(R"(\bfor\s*\()");
    std::size_t offered = 0;
    for (std::sregex_iterator at(code_.begin(), code_.end(), loop), end; at != end && offered < kMostLoops; ++at) {
      const auto offset = static_cast<std::size_t>(at->position());
      const std::size_t open = offset + static_cast<std::size_t>(at->length()) - 1;
      const std::size_t close = closing_bracket(code_, open);
      if (close == std::string::npos || code_.substr(open, close - open).find(';') == std::string::npos) continue;
      const int line = line_of(offset);
      std::optional<std::int64_t> own = 0;
      const bool has_pragma = line > 1 && trim(line_text(line - 1)).starts_with("#pragma") &&
                              trim(code_.substr(offset_of(line), offset - offset_of(line))).empty();
      if (has_pragma) own = factor_of(line_text(line - 1));
      if (!own) continue;
      const std::string gene = fmt::format("unroll_{}", line);
      if (!loops_.insert(gene).second) continue;  // The second loop of a line.
      if (has_pragma)
        replace(offset_of(line - 1), line_text(line - 1).size(), "evo_" + gene);
      else
        replace(offset, 0, "evo_" + gene + " ");
      found_.header +=
          fmt::format("#if {0} > 0\n#define evo_{0} EVO_UNROLL({0})\n#else\n#define evo_{0}\n#endif\n", gene);
      offer(gene, line, "unrolling of the loop; 0: as the compiler likes", with_own(numbers({0, 1, 2, 4, 8}), *own),
            *own);
      ++offered;
    }
    if (offered > 0)
      found_.header =
          "#define EVO_PRAGMA(text) _Pragma(#text)\n#define EVO_UNROLL(factor) EVO_PRAGMA(unroll factor)\n" +
          found_.header;
  }

  /// Of "#pragma unroll 4", "#pragma unroll", "#pragma nounroll"; empty: of something else.
  static std::optional<std::int64_t> factor_of(std::string_view line) {
    static const std::regex pragma(R"(\s*#\s*pragma\s+(unroll|nounroll)\s*\(?\s*(\d{0,4})\s*\)?\s*(//.*)?)");
    std::match_results<std::string_view::const_iterator> found;
    if (!std::regex_match(line.begin(), line.end(), found, pragma)) return std::nullopt;
    if (found[1] == "nounroll") return 1;
    return found[2].length() == 0 ? kWholeLoop : std::stoll(found[2]);
  }

  // ---- Memory

  void pointers() {
    bool restrictable = false;
    std::size_t loaded = 0, begin = place_.open + 1;
    for (std::size_t at = begin; at <= place_.close; ++at) {
      if (std::string_view("([{").find(code_[at]) != std::string_view::npos)
        at = std::min(closing_bracket(code_, at), place_.close);
      if (at < place_.close && code_[at] != ',') continue;
      const std::string parameter = code_.substr(begin, at - begin);
      const std::size_t star = parameter.find('*');
      if (star != std::string::npos && star == parameter.rfind('*')) {
        if (parameter.find("__restrict") == std::string::npos) {
          replace(begin + star + 1, 0, " evo_restrict ");
          restrictable = true;
        }
        static const std::regex read_only(
            R"(\s*const\s+(?:float|double|int|unsigned|unsigned\s+int|float[24]|u?int[24])\s*\*[\s\w]*?\b([A-Za-z_]\w*)\s*)");
        std::smatch found;
        if (loaded < kMostArrays && std::regex_match(parameter, found, read_only) && loads(found[1])) ++loaded;
      }
      begin = at + 1;
    }
    if (!restrictable) return;
    found_.header += "#if restrict_pointers\n#define evo_restrict __restrict__\n#else\n#define evo_restrict\n#endif\n";
    offer("restrict_pointers", line_of(place_.open), "__restrict__ for the kernel's pointers", numbers({0, 1}),
          std::int64_t{0});
  }

  /// How elements of an array that is only read are loaded, where the kernel's body has some.
  bool loads(const std::string& array) {
    const std::string gene = "load_" + array;
    const std::regex element(fmt::format(R"(\b{}\s*\[)", array));
    bool any = false;
    const auto begin = code_.begin() + static_cast<std::ptrdiff_t>(place_.body);
    for (std::sregex_iterator at(begin, code_.begin() + static_cast<std::ptrdiff_t>(place_.body_close), element), end;
         at != end; ++at) {
      const std::size_t offset = place_.body + static_cast<std::size_t>(at->position());
      const std::size_t before = code_.find_last_not_of(" \t\r\n", offset - 1);
      const std::size_t close = closing_bracket(code_, offset + static_cast<std::size_t>(at->length()) - 1);
      if (close == std::string::npos || code_[before] == '&' || code_[before] == '.' || code_[before] == '>') continue;
      replace(offset, 0, gene + "(&");
      replace(close + 1, 0, ")");
      any = true;
    }
    if (!any) return false;
    if (!has_plain_load_) {
      has_plain_load_ = true;
      found_.header += "#define evo_load(from) (*(from))\n";
    }
    using namespace std::string_literals;
    offer(gene, line_of(place_.open), fmt::format("loads of {}", array), {"evo_load"s, "__ldg"s, "__ldcg"s, "__ldcs"s},
          "evo_load"s);
    return true;
  }

  void padding() {
    static const std::regex array(R"(\b([A-Za-z_]\w*)\s*((?:\[[^\[\];]+\]){2,3})\s*[;,])");
    std::set<std::string> seen;
    for (std::size_t begin = code_.find("__shared__"); begin != std::string::npos;
         begin = code_.find("__shared__", begin + 1)) {
      const std::size_t end = std::min(code_.find(';', begin), code_.size() - 1) + 1;
      const std::string declaration = code_.substr(begin, end - begin);
      for (std::sregex_iterator at(declaration.begin(), declaration.end(), array), none; at != none; ++at) {
        const std::string name = at->str(1), gene = "pad_" + name;
        if (seen.size() == kMostArrays || !seen.insert(name).second) continue;
        const std::size_t last = begin + static_cast<std::size_t>(at->position(2) + at->length(2)) - 1;
        replace(last, 0, " + " + gene);
        offer(gene, line_of(last), fmt::format("elements between rows of {} in shared memory", name),
              numbers({0, 1, 2, 4, 8}), std::int64_t{0});
      }
    }
  }

  void fast_math() {
    static const std::regex costly(
        R"(\b(?:expf?|exp2f?|logf?|log2f?|sqrtf?|rsqrtf?|sinf?|cosf?|tanhf?|powf?)\s*\(|[\w)\]]\s*/=?\s*[\w(])");
    if (code_.find("float") == std::string::npos || !std::regex_search(code_, costly)) return;
    offer(kFastMath, 0, "the compiler's -use_fast_math", {Value(false), Value(true)}, false);
  }

  /// Several blocks at once, where their threads work alone.
  void several_blocks() {
    LaunchLine& launch = found_.launch;
    std::optional<CoarseKernel> coarse = coarse_kernel(found_.source, name_, launch.grid.size() > 1);
    if (!coarse) return;
    found_.coarse_arguments = {launch.grid[0], launch.grid.size() > 1 ? launch.grid[1] : "1"};
    offer("each_x", line_of(place_.global), "blocks along x that a block does at once", numbers({1, 2, 4, 8}),
          std::int64_t{1});
    launch.grid[0] = fmt::format("ceil_div({}, each_x)", launch.grid[0]);
    if (coarse->along_y) {
      offer("each_y", line_of(place_.global), "blocks along y that a block does at once", numbers({1, 2, 4}),
            std::int64_t{1});
      launch.grid[1] = fmt::format("ceil_div({}, each_y)", launch.grid[1]);
    }
    found_.source = std::move(coarse->source);
    found_.header += coarse->header;
    found_.coarse = std::move(coarse->kernel);
  }

  std::string edited_source() {
    std::ranges::stable_sort(edits_, std::greater(), &Edit::offset);
    std::string text = source_;
    for (const Edit& edit : edits_) text.replace(edit.offset, edit.length, edit.text);
    return text;
  }

  const std::string& source_;
  const std::string code_;
  const std::set<std::string> sizes_;
  std::vector<std::size_t> line_starts_ = {0};
  std::string name_;
  KernelPlace place_;
  std::set<std::string> loops_;
  bool has_plain_load_ = false;
  std::vector<Edit> edits_;
  KernelChoices found_;
};

}  // namespace

KernelChoices find_choices(const std::string& source, const LaunchLine& launch, const std::vector<std::string>& sizes) {
  return Finder(source, launch, sizes).find();
}

}  // namespace evo
