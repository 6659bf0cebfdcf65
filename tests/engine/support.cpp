#include "tests/engine/support.h"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/task/scope.h"

namespace evo::test {
namespace {

enum class Legality { legal, illegal, fails };

Legality legality_of(const Family& family, const Genome& genome, const Bindings& facts,
                     const std::vector<Bindings>& specialisations) {
  Legality legality = Legality::legal;
  for (const Bindings& specialisation : specialisations) {
    const Bindings known = joined(facts, specialisation);
    const Bindings scope = scope_of(family, genome, known);
    for (const Constraint& constraint : family.constraints) {
      try {
        if (!constraint.condition.evaluate_bool(scope)) return Legality::illegal;
      } catch (const Error&) {
        legality = Legality::fails;
      }
    }
  }
  return legality;
}

void extend(const Family& family, const Bindings& facts, const std::vector<Bindings>& specialisations,
            std::size_t level, Genome& genome, Enumeration& result) {
  if (level == family.genes.size()) {
    const Legality legality = legality_of(family, genome, facts, specialisations);
    if (legality == Legality::legal) result.legal.push_back(genome);
    result.fails |= legality == Legality::fails;
    return;
  }
  const Gene& gene = family.genes[level];
  if (!gene.when.evaluate_bool(scope_of(family, genome, facts))) {
    extend(family, facts, specialisations, level + 1, genome, result);
    return;
  }
  for (const Value& allele : gene.alleles) {
    genome.genes[gene.name] = allele;
    extend(family, facts, specialisations, level + 1, genome, result);
    genome.genes.erase(gene.name);
  }
}

}  // namespace

Gene gene(const std::string& name, std::vector<Value> alleles, std::string_view when) {
  const Gene::Kind kind = kind_of(alleles);
  return {name, kind, std::move(alleles), Expression::parse(when), ""};
}

Family family(const std::string& name, std::vector<Gene> genes, const std::vector<std::string>& constraints,
              const std::vector<std::pair<std::string, std::string>>& derived) {
  Family result;
  result.name = name;
  result.genes = std::move(genes);
  for (const std::string& text : constraints) result.constraints.push_back({Expression::parse(text), ""});
  for (const auto& [derived_name, value] : derived) {
    result.derived.push_back({derived_name, Expression::parse(value)});
  }
  return result;
}

std::string random_expression(Rng& rng, const std::vector<std::string>& names, int depth) {
  const auto sub = [&] { return random_expression(rng, names, depth - 1); };
  if (depth == 0 || rng.below(6) == 0) {
    if (rng.below(3) == 0) return std::to_string(rng.below(9));
    return names[rng.below(names.size())];
  }
  static const std::vector<std::string> kBinary = {
      "+", "-", "*", "/", "%", "//", "<", "<=", ">", ">=", "==", "!=", "&", "|", "<<", ">>", "&&", "||", "and", "or"};
  switch (rng.below(10)) {
    case 0:
      return fmt::format("({} ? {} : {})", sub(), sub(), sub());
    case 1:
      return fmt::format("({} in ({}, {}))", sub(), sub(), sub());
    case 2:
      return fmt::format("({} <= {} < {})", sub(), sub(), sub());
    case 3:
      return fmt::format("{}({}, {})", rng.below(2) ? "min" : "max", sub(), sub());
    case 4:
      return fmt::format("{}({})", rng.below(2) ? "pow2" : "log2", sub());
    case 5:
      return fmt::format("ceil_div({}, {})", sub(), sub());
    case 6:
      return fmt::format("({}{})", rng.below(2) ? "-" : "!", sub());
    default:
      return fmt::format("({} {} {})", sub(), kBinary[rng.below(kBinary.size())], sub());
  }
}

Enumeration enumerate(const Family& family, const Bindings& facts, const std::vector<Bindings>& specialisations) {
  Enumeration result;
  Genome genome{family.name, {}};
  extend(family, facts, specialisations, 0, genome, result);
  return result;
}

SourceTree scale_task() {
  SourceTree tree;
  tree["scale/task.json"] = R"json({
  "summary": "y = a x, row by row",
  "shape_parameters": ["N", "M"],
  "specialised": ["M"],
  "options": { "out": ["f16", "f32"], "fused": [false, true] },
  "inputs": [
    { "name": "x", "dtype": "e4m3", "dims": ["N", "M"], "scale": "a" },
    { "name": "a", "dtype": "f32", "dims": ["N"] }
  ],
  "outputs": [ { "name": "y", "dtype": "out", "dims": ["N", "M"] } ],
  "shapes": {
    "small": { "N": 3, "M": 64 },
    "large": { "N": 1000, "M": 64 },
    "wide":  { "N": 2, "M": 128 }
  },
  "sets": {
    "cuda": { "timed": ["large"], "validated": ["small", "wide"] },
    "vgpu": { "timed": ["small"], "validated": ["small"] }
  },
  "seeds": 2,
  "regimes": {
    "normal": { "distribution": "normal" },
    "hard": { "distribution": "outliers", "gain": 8, "tensors": ["x"] }
  },
  "limits": { "relative_l2": 0.01, "cosine": 0.99 },
  "floor": { "flops": "N * M", "bytes": "3 * N * M", "math": "f32" },
  "reference": { "kernel": "scale_reference", "grid": ["N", "1", "1"], "block": ["M", "1", "1"],
                 "arguments": ["x", "a", "y", "N * M"] }
})json";
  tree["scale/reference.cu"] = "// reference for ${M}\n";
  tree["scale/plain/family.json"] = R"json({
  "summary": "one thread for each group of elements",
  "requires": "sm >= 80",
  "genes": [
    {"name": "threads", "values": [32, 64, 128], "doc": "threads of a CTA"},
    {"name": "vector", "values": [1, 2, 4]},
    {"name": "split", "values": [1, 2], "when": "threads > 32"},
    {"name": "store", "slot": true}
  ],
  "derived": [
    {"name": "columns", "value": "threads * vector"},
    {"name": "rows_left", "value": "N % 2"}
  ],
  "constraints": [ {"that": "M % columns == 0", "why": "a CTA would cross a row"} ],
  "workspaces": [ {"name": "partial", "bytes": "4 * N * split", "when": "split > 1", "zeroed": "true"} ],
  "tensor_maps": [ {"name": "x_map", "source": "x", "dtype": "e4m3", "when": "vector == 4", "dims": ["M", "N"],
                    "strides_bytes": ["M"], "box": ["64", "1"], "swizzle_bytes": 64} ],
  "max_registers": "32 * vector",
  "launches": [
    {"kernel": "scale", "grid": ["ceil_div(N, 1)", "split", "1"], "block": ["threads", "1", "1"],
     "dynamic_smem": "columns * 4", "arguments": ["x", "a", "y", "partial", "N", "rows_left"]},
    {"kernel": "gather", "when": "split > 1", "grid": ["N", "1", "1"], "block": ["32", "1", "1"],
     "programmatic": "sm >= 90", "arguments": ["partial", "y"]}
  ]
})json";
  tree["scale/plain/kernel.cu"] =
      "//% include \"include/types.cuh\"\n"
      "constexpr int columns = ${columns};  // M = ${M}, out = ${out}\n"
      "//% slot store\n";
  tree["scale/plain/store/plain.cu"] = "// plain store of ${vector}\n";
  tree["scale/plain/store/streamed.cu"] = "// streamed store\n";
  tree["include/types.cuh"] = "using e4m3 = unsigned char;\n";
  return tree;
}

SourceTree edited(SourceTree tree, const std::string& file, const std::string& from, const std::string& to) {
  std::string& content = tree.at(file);
  const auto place = content.find(from);
  if (place == std::string::npos) throw std::logic_error("'" + from + "' is not in " + file);
  content.replace(place, from.size(), to);
  return tree;
}

}  // namespace evo::test
