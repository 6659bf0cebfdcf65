# evo_layer(NAME FOLDER...): a static library of the sources and headers in the folders and below, included as
# "folder/file.h". Its headers form a file set, so that tests/structure can compile each of them alone.
function(evo_layer name)
  set(globs ${ARGN})
  list(TRANSFORM globs APPEND /*.cpp OUTPUT_VARIABLE source_globs)
  list(TRANSFORM globs APPEND /*.h OUTPUT_VARIABLE header_globs)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${source_globs})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${header_globs})
  add_library(${name} STATIC ${sources})
  target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  set_property(GLOBAL APPEND PROPERTY EVO_LAYERS ${name})
endfunction()

# evo_precompile(TARGET [HEADER...]): the standard library's and {fmt}'s headers, which nearly every source includes, parsed
# once for the target; and further headers. Sources include what they use all the same: the preset tidy has no precompiled
# headers.
function(evo_precompile target)
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <chrono> <cstdint> <filesystem> <fstream> <functional> <map> <memory> <mutex> <optional> <random>
    <regex> <set> <span> <sstream> <string> <string_view> <unordered_map> <unordered_set> <variant> <vector>
    <fmt/format.h> ${ARGN})
endfunction()

# evo_precompile_as(TARGET OTHER): what was parsed for OTHER. Both must have the same options for code, -O1 and -O2 are not:
# GCC 12 crashes then.
function(evo_precompile_as target other)
  target_precompile_headers(${target} REUSE_FROM ${other})
endfunction()

# evo_unite(TARGET SOURCES): that many of its sources are compiled together, in the order of their names. What they
# instantiate of the headers of nlohmann/json, CLI11, Catch2 and the standard library costs more than their own code, and is
# shared then. 32 sources of cli/ take 1.5 GB, so that two compile beside each other on a small machine.
# A file then sees the anonymous namespaces of those before it: a name there must be the target's only one, or an overload
# for other types, and must not be that of a function which a file means by `using namespace`: it would be taken instead.
function(evo_unite target sources)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${EVO_UNITE} UNITY_BUILD_BATCH_SIZE ${sources})
endfunction()
