#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/expression/json_place.h"
#include "engine/expression/name_scope.h"
#include "engine/short_form/author_files.h"
#include "engine/short_form/first_genome.h"
#include "engine/short_form/short_form.h"
#include "engine/short_form/tensor_notation.h"
#include "engine/source/compile_options.h"
#include "engine/task/argument.h"

namespace evo {

/// JSON that is read, and that is made of it.
struct ShortFormJson {
  nlohmann::ordered_json& given;      ///< The short form.
  nlohmann::ordered_json& task;       ///< Parts of task.json.
  nlohmann::ordered_json& family;     ///< Parts of family.json.
  nlohmann::ordered_json& constants;  ///< Likewise, by symbol.
};

/// Reads one short form; each function reads one part of it and may rely on those before it.
class ShortFormReader {
 public:
  /// `json`: four objects without members. All parameters are kept by reference.
  ShortFormReader(const std::string& file, const std::string& text, const ReadFile& read, const IsKnownHeader& known,
                  const ShortFormJson& json);
  ShortForm read();

 private:
  using Json = nlohmann::ordered_json;

  /// A function in a file of the author's.
  struct FunctionPlace {
    std::string file;  ///< As the short form names it.
    std::string function;
  };

  void origin(const std::string& made, const std::string& author);
  void task_origin(const std::string& made, const std::string& author);
  void family_origin(const std::string& made, const std::string& author);

  /// "convolution.cu:convolution_kernel". Without a file it is `usual`.
  FunctionPlace function_place(const JsonPlace& place, const std::string& usual);
  /// The kernels of `launches`, or `kernel` alone.
  void kernels();
  void compiler_options();
  void author_files();
  void shapes();
  void options();
  bool is_type_option(const std::string& name) const;

  // short_form_reader_genes.cpp
  void genes();
  void add_gene(const std::string& name, const JsonPlace& place, const std::string& author);
  void push_gene(const JsonPlace& place, const Json& gene, const std::string& author);
  /// Kernel Tuner's: a T1 file, or {"tune_params": ..., "restrictions": ...}.
  void genes_from_file(const JsonPlace& place);
  void restrictions();
  void add_constraints(const JsonPlace& place, const std::string& author);
  void add_constraint(const Json& constraint, const std::string& author);
  void find_first_genome();
  /// A kernel's name that a gene decides must be one of its file for each value.
  void check_kernel_names() const;
  std::vector<Value> values_of_gene(const std::string& name) const;

  // short_form_reader_tensors.cpp
  void arguments();
  /// Those of the kernel, or of one launch: tensors that are declared here, names of such, scalars.
  std::vector<std::string> arguments_of(const JsonPlace& place, const std::string& author, std::size_t launch);
  /// Variables and what fills them: an input by name or as `arguments` write one, or a value.
  void constants();
  /// A tensor's name alone may be one that is given before.
  void check_names(const JsonPlace& place, const ArgumentSpec& argument) const;
  /// The same of an argument's text, which may be a tensor's name that no expression may have.
  void check_argument(const JsonPlace& place) const;
  void add_tensor(const JsonPlace& place, TensorNotation tensor, const std::string& author);
  /// Gives it and those that it names names of the task's own.
  void name_tensor(const JsonPlace& place, TensorNotation& tensor);
  void add_scratch(const JsonPlace& place, const TensorNotation& tensor, const std::string& author);
  /// No size of a tensor of the task is a gene's.
  void check_dims(const JsonPlace& place, const TensorNotation& tensor) const;
  /// What the task calls the author's tensor: words of expressions and of languages get a '_'.
  std::string own_name(const std::string& author) const;
  /// The reference writes narrow floats as the kernel does, but the real values of a quantised output.
  void choose_reference_type(const JsonPlace& place, const TensorNotation& tensor, DType dtype);
  /// Where the file stands in the folder, whose files of other kinds are not read.
  std::string take_drawn_file(const JsonPlace& place, const std::string& path);
  /// Those of the task, and, under an output's name, its own.
  void limits();

  // short_form_reader_geometry.cpp
  /// One to three expressions, as texts. What a launch does not say stands beside the launches.
  std::optional<std::vector<std::string>> extents(const char* key) { return extents(root_, key); }
  std::optional<std::vector<std::string>> extents(const JsonPlace& launch, const char* key);
  std::optional<JsonPlace> found(const JsonPlace& launch, const char* key) const;
  static std::vector<std::string> three(std::vector<std::string> extents);
  void geometry();
  void add_launch(const JsonPlace& launch, std::size_t number);
  /// Kernel Tuner's names.
  std::vector<std::string> usual_block(const JsonPlace& launch) const;
  /// Kernel Tuner's way: each extent of the problem is divided by the genes of its axis.
  std::vector<std::string> divided_grid(const JsonPlace& launch);
  /// A block of more threads than any GPU takes is no genome.
  void limit_threads();

  // short_form_reader_files.cpp
  static std::string base_name(const std::string& path);
  std::string include_line(const std::string& file) const;
  /// What is known when a kernel is compiled: options and specialised sizes.
  std::string known_macros() const;
  /// A gene that the kernel's name reads, "reduce<${tile}>", is a template's parameter, which a macro would hide.
  bool is_macro(const std::string& gene) const;
  /// The files that the launches need, each once.
  std::string include_lines() const;
  void kernel_file();
  void reference();
  /// "reduce<${tile}>" with the first genome's tile: a reference reads no genes.
  std::string with_first_in_braces(const std::string& name) const;
  Json reference_arguments();
  /// Those of the kernel without scratch, by their places; without what genes decide where the reference takes so many.
  std::vector<std::size_t> usual_reference_arguments() const;
  /// A macro or variable of the kernel's file that is called as a gene would be what counts.
  void refuse_own_values() const;
  /// Without `reference_constants`: those of the kernel's that the reference's file has.
  Json reference_constants(const FunctionPlace& place);
  /// The expressions of a constant with the genes of the first genome.
  Json with_first(Json filled) const;
  void family_json();
  void task_json();

  const std::string& file_;
  const ReadFile& read_;
  AuthorFiles sources_;
  JsonPlace root_;
  Json& json_;  // the same as root_
  Json& task_;
  Json& family_;
  Json& constants_;
  std::string folder_, family_folder_;
  FunctionPlace kernel_, reference_;     // the kernel of the first launch
  std::vector<FunctionPlace> launched_;  // of all launches
  std::vector<JsonPlace> launches_;      // where they stand; without "launches" the whole
  CompileOptions compile_;
  std::vector<std::string> parameters_, specialised_;
  std::map<std::string, std::vector<Value>> options_;
  std::set<std::string> genes_, tensors_, scratch_;
  std::map<std::string, std::string> own_names_;     // of tensors, by the author's names
  std::vector<std::vector<std::string>> arguments_;  // of each launch
  std::vector<std::string> grid_, block_;            // of the first launch
  std::string shared_;
  std::vector<OwnConstraint> constraints_;
  bool typed_outputs_ = false;
  NameScope scope_;  // what grids, blocks and arguments read
  Bindings first_;   // the first legal genome
  ShortForm form_;
};

}  // namespace evo
