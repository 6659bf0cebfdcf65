#include "engine/task/gene.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <variant>

#include "engine/record/enumerators.h"

namespace evo {
namespace {

constexpr std::string_view kTemplate = ".cu";

/// What a kind decides beside how family.json gives its alleles (read_alleles).
struct KindFacts {
  Gene::Kind kind;
  bool ordered;        ///< A step leads from an allele to the next one.
  bool only_equality;  ///< Of the alleles as numbers (GeneEncoding::unordered).
  bool names_files;
};

constexpr auto kKinds = std::to_array<KindFacts>({
    {Gene::Kind::number, true, false, false},
    {Gene::Kind::boolean, false, false, false},
    {Gene::Kind::category, false, true, false},
    {Gene::Kind::slot, false, true, true},
});
static_assert(has_row_for_each(kKinds, &KindFacts::kind), "each kind has its row, in the order of the enumeration");

const KindFacts& kind_facts(const Gene& gene) {
  return kKinds.at(static_cast<std::size_t>(gene.kind));
}

void read_slot(const JsonPlace& place, const SourceTree& tree, const std::string& family_folder, Gene& gene) {
  gene.kind = Gene::Kind::slot;
  const std::string folder = family_folder + gene.name + "/";
  for (auto file = tree.lower_bound(folder); file != tree.end() && file->first.starts_with(folder); ++file) {
    const std::string name = file->first.substr(folder.size());
    if (name.ends_with(kTemplate) && name.find('/') == std::string::npos)
      gene.alleles.emplace_back(name.substr(0, name.size() - kTemplate.size()));
  }
  if (gene.alleles.empty()) place.fail(fmt::format("slot '{}' has no file {}*.cu", gene.name, folder));
}

void read_values(const JsonPlace& place, Gene& gene) {
  for (const JsonPlace& item : place.items()) {
    const Value value = item.value();
    if (std::holds_alternative<double>(value)) item.fail("numbers of a gene are integers; name reals by strings");
    if (!gene.alleles.empty() && value.index() != gene.alleles.front().index()) {
      item.fail("values of one gene must be all integers, all booleans or all strings");
    }
    if (std::find(gene.alleles.begin(), gene.alleles.end(), value) != gene.alleles.end()) {
      item.fail(fmt::format("value {} is given twice", expr::to_string(value)));
    }
    gene.alleles.push_back(value);
  }
  if (gene.alleles.empty()) place.fail("at least one value is needed");
  gene.kind = kind_of(gene.alleles);
  if (is_ordered(gene) && !std::is_sorted(gene.alleles.begin(), gene.alleles.end())) place.fail("numbers must ascend");
}

bool all_positive_integers(const std::vector<Value>& alleles) {
  return std::all_of(alleles.begin(), alleles.end(), [](const Value& value) {
    const auto* number = std::get_if<std::int64_t>(&value);
    return number && *number > 0;
  });
}

}  // namespace

std::string_view name_of(Gene::Kind kind) {
  return enumerator_name(kind);
}

Gene::Kind kind_of(const std::vector<Value>& alleles) {
  const auto all = [&]<typename T>(std::in_place_type_t<T>) {
    return std::all_of(alleles.begin(), alleles.end(), [](const Value& v) { return std::holds_alternative<T>(v); });
  };
  if (all(std::in_place_type<std::int64_t>)) return Gene::Kind::number;
  return all(std::in_place_type<bool>) ? Gene::Kind::boolean : Gene::Kind::category;
}

std::vector<std::string_view> gene_keys() {
  return {"name", "values", "slot", "when", "doc"};
}

void read_alleles(const JsonPlace& place, const SourceTree& tree, const std::string& folder, Gene& gene) {
  const auto slot = place.find("slot");
  if (!slot || !slot->boolean()) return read_values(place.at("values"), gene);
  if (place.find("values")) place.fail("a slot takes its values from the files in its folder");
  read_slot(place, tree, folder, gene);
}

bool is_ordered(const Gene& gene) {
  return kind_facts(gene).ordered;
}

double distance(const Gene& gene, int a, int b) {
  if (a == b) return 0;
  return is_ordered(gene) ? std::abs(a - b) / static_cast<double>(gene.alleles.size() - 1) : 1;
}

GeneEncoding encoding_of(const Gene& gene) {
  GeneEncoding encoding{.unordered = kind_facts(gene).only_equality,
                        .logarithmic = is_ordered(gene) && all_positive_integers(gene.alleles),
                        .values = {}};
  for (std::size_t i = 0; i < gene.alleles.size(); ++i) {
    encoding.values.push_back(encoding.logarithmic ? static_cast<float>(std::log2(
                                                         static_cast<double>(std::get<std::int64_t>(gene.alleles[i]))))
                                                   : static_cast<float>(i));
  }
  return encoding;
}

bool names_files(const Gene& gene) {
  return kind_facts(gene).names_files;
}

std::string allele_file(const Gene& gene, const Value& allele) {
  return fmt::format("{}/{}{}", gene.name, expr::to_string(allele), kTemplate);
}

}  // namespace evo
