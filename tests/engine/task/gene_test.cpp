#include "engine/task/gene.h"

#include "tests/engine/support.h"

using namespace evo;
using test::gene;
using test::number;

namespace {

Value text(const char* word) {
  return std::string(word);
}

}  // namespace

TEST_CASE("the kind of a gene follows from its alleles") {
  CHECK(kind_of({number(1), number(2)}) == Gene::Kind::number);
  CHECK(kind_of({false, true}) == Gene::Kind::boolean);
  CHECK(kind_of({text("rows"), text("columns")}) == Gene::Kind::category);
}

TEST_CASE("numbers are as far apart as there are steps between them, other alleles are all the same distance apart") {
  const Gene tile = gene("tile", {number(16), number(32), number(64)});
  CHECK(is_ordered(tile));
  CHECK(distance(tile, 0, 1) == 0.5);
  CHECK(distance(tile, 2, 0) == 1);
  const Gene layout = gene("layout", {text("a"), text("b"), text("c")});
  CHECK_FALSE(is_ordered(layout));
  CHECK(distance(layout, 0, 1) == 1);
  CHECK(distance(layout, 0, 2) == 1);
  CHECK(distance(layout, 1, 1) == 0);
}

TEST_CASE("a regression sees positive numbers as logarithms and other alleles as indices") {
  const GeneEncoding tile = encoding_of(gene("tile", {number(16), number(32), number(128)}));
  CHECK(tile.logarithmic);
  CHECK(tile.values == std::vector<float>{4, 5, 7});
  const GeneEncoding stages = encoding_of(gene("stages", {number(0), number(2)}));
  CHECK_FALSE(stages.logarithmic);
  CHECK(stages.values == std::vector<float>{0, 1});
  CHECK_FALSE(encoding_of(gene("ping", {false, true})).unordered);
  CHECK(encoding_of(gene("layout", {text("a"), text("b")})).unordered);
}

TEST_CASE("an allele of a slot names a file of the gene's folder") {
  Gene store = gene("store", {text("scalar"), text("vector")});
  CHECK_FALSE(names_files(store));
  store.kind = Gene::Kind::slot;
  CHECK(names_files(store));
  CHECK(allele_file(store, store.alleles[1]) == "store/vector.cu");
}
