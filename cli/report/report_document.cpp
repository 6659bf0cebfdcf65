#include "cli/report/report_document.h"

#include <nlohmann/json.hpp>

#include "cli/run/run_summary.h"
#include "cli/subject/json.h"
#include "cli/text/json_text.h"

namespace evo::cli {
namespace {

Json gene_json(const GeneWorth& gene) {
  Json json = {{"gene", gene.gene}, {"importance", gene.importance}, {"pairs", gene.pairs}};
  json["pair_ratio"] = gene.pairs > 0 ? Json(gene.pair_ratio) : Json(nullptr);
  json["alleles"] = Json::array();
  for (const AlleleWorth& allele : gene.alleles)
    json["alleles"].push_back({{"allele", value_json(allele.allele)},
                               {"tried", allele.tried},
                               {"valid", allele.valid},
                               {"best_us", or_null(allele.best_us)}});
  return json;
}

}  // namespace

Json family_json(const FamilyReport& family) {
  Json genes = list_json(family.genes, gene_json);
  return {{"family", family.family},
          {"tried", family.tried},
          {"valid", family.valid},
          {"best_us", or_null(family.best_us)},
          {"genes", genes}};
}

Json phases_json(const PhaseSums& phases) {
  return {{"run_s", phases.run_s},
          {"compile_s", phases.compile_s},
          {"waiting_s", phases.device.waiting_s},
          {"validation_s", phases.device.validation_s},
          {"timing_s", phases.device.timing_s}};
}

std::string report_document(const RunReport& report, const Lessons& lessons) {
  Json json = json_document("report");
  json["run"] = run_json(report.run);
  json["milestones"] = Json::array();
  for (const Milestone& one : report.milestones)
    json["milestones"].push_back({{"evaluations", one.evaluations},
                                  {"seconds", one.seconds},
                                  {"candidate", one.candidate},
                                  {"latency_us", one.latency_us},
                                  {"op", one.op},
                                  {"change", one.change}});
  json["front"] = elites_json(report.front);
  json["families"] = list_json(report.families, family_json);
  json["rejections"] = rejections_json(report.rejections);
  json["phases"] = phases_json(report.phases);
  json["notes"] = Json::array();
  for (const NotedProposal& one : report.notes)
    json["notes"].push_back({{"candidate", one.candidate},
                             {"note", one.note},
                             {"verdict", name_of(one.verdict)},
                             {"reason", one.reason},
                             {"latency_us", or_null(one.latency_us)}});
  json["peoples_notes"] = Json::array();
  for (const NoteRow& one : report.peoples_notes)
    json["peoples_notes"].push_back({{"candidate", one.candidate}, {"at", one.at}, {"note", one.text}});
  json["exchanges"] = exchanges_json(report.exchanges);
  json["lessons"] = lessons_json(lessons);
  json["questions"] = report.questions;
  return json_text(json);
}

}  // namespace evo::cli
