#include "population/store/codec.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/json_depth.h"
#include "engine/expression/json_value.h"

namespace evo {
namespace {

using nlohmann::json;

json to_value(const Bindings& bindings) {
  json object = json::object();
  for (const auto& [name, value] : bindings) object[name] = json_of(value);
  return object;
}

Bindings bindings_of(const json& object) {
  if (!object.is_object()) throw usage_error("expected a JSON object of names and values");
  Bindings bindings;
  for (const auto& [name, value] : object.items()) {
    if (value.is_boolean()) {
      bindings[name] = value.get<bool>();
    } else if (value.is_number_integer()) {
      bindings[name] = value.get<std::int64_t>();
    } else if (value.is_number_float()) {
      bindings[name] = value.get<double>();
    } else if (value.is_string()) {
      bindings[name] = value.get<std::string>();
    } else {
      throw usage_error(fmt::format("the value of \"{}\" is not a number, a boolean or a string", name));
    }
  }
  return bindings;
}

json to_value(const std::vector<Shape>& shapes) {
  json list = json::array();
  for (const Shape& shape : shapes) list.push_back({{"name", shape.name}, {"parameters", to_value(shape.parameters)}});
  return list;
}

std::vector<Shape> shapes_of(const json& list) {
  std::vector<Shape> shapes;
  for (const json& shape : list) {
    shapes.push_back({shape.at("name").get<std::string>(), bindings_of(shape.at("parameters"))});
  }
  return shapes;
}

json parse(std::string_view text) {
  require_shallow_json(text, "malformed JSON");
  try {
    return json::parse(text);
  } catch (const json::exception&) {
    throw usage_error("malformed JSON");
  }
}

}  // namespace

std::string bindings_to_json(const Bindings& bindings) {
  return to_value(bindings).dump();
}

Bindings bindings_from_json(std::string_view text) {
  return bindings_of(parse(text));
}

std::string target_to_json(const Target& target) {
  return json{{"objective", target.objective},
              {"options", to_value(target.options)},
              {"timed", to_value(target.timed)},
              {"validated", to_value(target.validated)}}
      .dump();
}

Target target_from_json(std::string_view text) {
  const json object = parse(text);
  try {
    return {bindings_of(object.at("options")), shapes_of(object.at("timed")), shapes_of(object.at("validated")),
            object.value("objective", Target{}.objective)};
  } catch (const json::exception&) {
    throw usage_error("malformed target: expected options, timed and validated");
  }
}

std::string seeds_to_json(const std::vector<Seed>& seeds) {
  json list = json::array();
  for (const Seed& seed : seeds)
    list.push_back({{"genome", json::parse(to_json(seed.genome))}, {"origin", seed.origin}});
  return list.dump();
}

std::vector<Seed> seeds_from_json(std::string_view text) {
  std::vector<Seed> seeds;
  for (const json& seed : parse(text)) {
    if (!seed.is_object() || !seed.contains("genome") || !seed.contains("origin") || !seed["origin"].is_string())
      throw usage_error("a seed is {\"genome\": {...}, \"origin\": \"...\"}");
    seeds.push_back({genome_from_json(seed["genome"].dump()), seed["origin"].get<std::string>()});
  }
  return seeds;
}

}  // namespace evo
