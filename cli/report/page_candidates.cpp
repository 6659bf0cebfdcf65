#include "cli/report/page_candidates.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/report/page_json.h"
#include "cli/subject/json.h"
#include "cli/text/json_text.h"
#include "cli/text/result_text.h"
#include "cli/text/terminal.h"

namespace evo::cli {
namespace {

constexpr std::size_t kReasonBytes = 240;            ///< Of each candidate's reason.
constexpr std::size_t kMostReasonBytes = 1'000'000;  ///< Of all of them.

/// A genome's alleles as places in the lists of its family's values; -1 where it lacks the gene.
class AlleleColumns {
 public:
  explicit AlleleColumns(const std::vector<FamilyReport>& families) {
    for (const FamilyReport& family : families)
      for (const GeneWorth& gene : family.genes) {
        Column& column = family_of(family.family).columns[gene.gene];
        for (const AlleleWorth& one : gene.alleles) place_of(column, one.allele);
      }
  }
  std::size_t add(const Genome& genome) {
    Family& family = family_of(genome.family);
    for (const auto& [gene, allele] : genome.genes) {
      Column& column = family.columns[gene];
      while (column.places.size() < family.members) column.places.push_back(-1);
      column.places.push_back(place_of(column, allele));
    }
    ++family.members;
    return family.number;
  }
  Json json() {
    std::vector<Json> list(families_.size());
    for (auto& [name, family] : families_) {
      Json genes = Json::object();
      for (auto& [gene, column] : family.columns) {
        while (column.places.size() < family.members) column.places.push_back(-1);
        genes[gene] = {{"values", column.values}, {"alleles", column.places}};
      }
      list[family.number] = {{"family", name}, {"genes", genes}};
    }
    return list;
  }

 private:
  struct Column {
    std::map<std::string, int> known;
    Json values = Json::array();
    std::vector<int> places;
  };
  struct Family {
    std::size_t number = 0;
    std::size_t members = 0;
    std::map<std::string, Column> columns;
  };
  Family& family_of(const std::string& name) {
    const auto [found, fresh] = families_.try_emplace(name);
    if (fresh) found->second.number = families_.size() - 1;
    return found->second;
  }
  static int place_of(Column& column, const Value& value) {
    const auto [found, fresh] =
        column.known.try_emplace(expr::to_string(value), static_cast<int>(column.values.size()));
    if (fresh) column.values.push_back(value_json(value));
    return found->second;
  }
  std::map<std::string, Family> families_;
};

}  // namespace

void add_candidates(nlohmann::ordered_json& page, const PageSubject& subject,
                    const std::vector<FamilyReport>& families) {
  AlleleColumns alleles(families);
  Json& json = page["candidates"];
  for (const char* column : {"id", "run", "evaluation", "seconds", "verdict", "op", "family", "parent", "latency_us",
                             "relative_l2", "reason"})
    json[column] = Json::array();
  Numbered ops, reasons;
  reasons.of("");
  std::size_t reason_bytes = 0;
  for (std::size_t run = 0; run < subject.runs.size(); ++run) {
    std::uint64_t evaluation = 0;
    for (const OutcomeRow& one : subject.outcomes[run]) {
      json["id"].push_back(one.candidate);
      json["run"].push_back(run);
      json["evaluation"].push_back(++evaluation);
      json["seconds"].push_back(rounded(one.seconds));
      json["verdict"].push_back(static_cast<int>(one.verdict));
      json["op"].push_back(ops.of(one.op));
      json["family"].push_back(alleles.add(one.genome));
      json["parent"].push_back(one.first_parent.value_or(0));
      json["latency_us"].push_back(number_json(one.latency_us));
      json["relative_l2"].push_back(one.latency_us ? number_json(one.worst_relative_l2) : Json(nullptr));
      std::string reason = clipped(one_line(reason_text(one)), kReasonBytes, "...");
      if (reason_bytes + reason.size() > kMostReasonBytes)
        reason = fmt::format("evo show {} has the reason", one.candidate);
      reason_bytes += reason.size();
      json["reason"].push_back(reasons.of(reason));
    }
  }
  json["ops"] = ops.texts();
  json["reasons"] = reasons.texts();
  page["genomes"] = alleles.json();
}

}  // namespace evo::cli
