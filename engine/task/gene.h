#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/expression/expression.h"
#include "engine/expression/json_place.h"

namespace evo {

/// One named choice of a family (docs/templates.md). This file knows what its kind decides: how family.json gives it,
/// which alleles are neighbours, how far two are apart, how a surrogate sees them, and which files they name. T1 files
/// and recordings have readers of their own (engine/short_form/t1.cpp, engine/replay/recording.cpp).
struct Gene {
  enum class Kind {
    number,    ///< Ordered: integers, in T1 files and recordings also reals.
    boolean,   ///< false, true.
    category,  ///< Strings without an order.
    slot,      ///< Strings: the stems of the files in the folder of the gene's name.
  };
  std::string name;
  Kind kind = Kind::number;
  std::vector<Value> alleles;  ///< In the file's order; numbers ascending; slots sorted by name.
  Expression when;  ///< Inactive genes take no part in the genome. Reads only earlier genes, facts and options.
  std::string doc;
};

/// "number", "boolean", "category", "slot": as JSON output and results files have it.
std::string_view name_of(Gene::Kind kind);

/// The kind of these alleles, which are of one type: number, boolean or category.
Gene::Kind kind_of(const std::vector<Value>& alleles);

/// The keys that an entry of a family's genes may have.
std::vector<std::string_view> gene_keys();

/// Reads kind and alleles of one entry of a family's genes. `folder`: the family's in the tree, "scale/plain/".
/// Fails at the place that is wrong.
void read_alleles(const JsonPlace& place, const SourceTree& tree, const std::string& folder, Gene& gene);

/// Whether the alleles have an order in which a step leads to the next one.
bool is_ordered(const Gene& gene);

/// 0 for equal alleles, given by their indices; 1 for different ones, or, where they are ordered, from one end to the
/// other.
double distance(const Gene& gene, int a, int b);

/// The alleles as numbers for a regression.
struct GeneEncoding {
  bool unordered = false;     ///< Only equality means something.
  bool logarithmic = false;   ///< `values` are logarithms: sums and differences of two genes are products and ratios.
  std::vector<float> values;  ///< By allele; none is negative.
};
GeneEncoding encoding_of(const Gene& gene);

/// Whether each allele names a template file.
bool names_files(const Gene& gene);
/// That file's path within the family's folder: "store/vector.cu".
std::string allele_file(const Gene& gene, const Value& allele);

}  // namespace evo
