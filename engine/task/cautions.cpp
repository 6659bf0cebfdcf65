#include "engine/task/cautions.h"

#include "engine/expression/json_place.h"

namespace evo {

std::vector<std::string> cautions(const SourceTree& tree, std::string_view task, std::string_view objective) {
  const std::string file = std::string(task) + "/cautions.json";
  if (!tree.contains(file)) return {};
  std::vector<std::string> sentences;
  if (const auto place = JsonPlace::read(tree, file).find(objective)) {
    for (const JsonPlace& sentence : place->items()) sentences.push_back(sentence.text());
  }
  return sentences;
}

}  // namespace evo
