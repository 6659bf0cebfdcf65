#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/rng.h"
#include "engine/base/source_tree.h"
#include "engine/search/proposed_templates.h"
#include "engine/task/genome.h"

namespace evo {

/// How a source is edited.
enum class EditOperator {
  remove,          ///< A statement goes.
  duplicate,       ///< A statement is done twice.
  move,            ///< A statement stands elsewhere in its block.
  swap,            ///< Two statements of a block change places.
  condition,       ///< A condition becomes a constant, a part of itself, or a neighbour's.
  operand,         ///< A variable, or what a variable is set to, becomes another variable of its type.
  constant,        ///< A number becomes another one.
  remove_barrier,  ///< A barrier, fence or wait goes.
  move_barrier,    ///< It stands elsewhere in its block, or ahead of or behind the loop that it is in.
  unroll,          ///< A loop gets another `unroll` pragma.
  fuse,            ///< Two loops of one head become one.
  split,           ///< A loop becomes two.
};
inline constexpr std::array<std::string_view, 12> kEditOperators = {
    "remove",   "duplicate",      "move",         "swap",   "condition", "operand",
    "constant", "remove_barrier", "move_barrier", "unroll", "fuse",      "split"};
std::string_view name_of(EditOperator op);

/// A part of a file and what takes its place.
struct TextChange {
  std::size_t offset = 0;
  std::size_t length = 0;
  std::string text;
  friend bool operator==(const TextChange&, const TextChange&) = default;
};

/// One edit of a template file. Its places are those of the file as the task has it, also where there are more edits.
struct SourceEdit {
  EditOperator op = EditOperator::remove;
  std::string file;  ///< In the tree: "softmax/online/kernel.cu".
  std::vector<TextChange> changes;
  int line = 0;      ///< From 1.
  std::string what;  ///< In words: "statement deleted: sum += 0;".

  /// Edits of one key change the same.
  std::string key() const;
};

/// "kernel.cu:12: statement deleted: sum += 0;"
std::string in_words(const SourceEdit& edit);

/// A genome of the task's templates and edits of the files that it is made of. The edits do not overlap, so their order
/// makes no difference but among insertions at one place.
struct EditList {
  Genome base;
  std::vector<SourceEdit> edits;
};

/// A line for each edit.
std::string in_words(const EditList& list);

/// Whether two edits change the same part of a file, or one puts something into a part that the other replaces.
bool overlap(const SourceEdit& a, const SourceEdit& b);

/// The list with one edit more; empty: it overlaps with one, or is there already.
std::optional<EditList> with_edit(EditList list, SourceEdit edit);

/// The base of `a` with a random half of its edits and one of `b`'s; empty: they overlap, or their families differ.
std::optional<EditList> crossed(const EditList& a, const EditList& b, Rng& rng);

/// The text after the edits of that file. Throws usage_error where an edit does not fit.
std::string edited_text(std::string_view text, std::string_view file, const std::vector<SourceEdit>& edits);

/// The kernel of an edit list: a family of its own that carries the list (kEditsFile). `tree`: the task's files.
ProposedFiles edited_files(const SourceTree& tree, const std::string& task, const EditList& list);

/// The list that a candidate's files carry; empty: it was not made by edits.
std::optional<EditList> edit_list_in(const SourceTree& files);

}  // namespace evo
