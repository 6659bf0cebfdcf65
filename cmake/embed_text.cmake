# evo_embed_text(TARGET NAME=FILE...): makes a source of TARGET that holds the files' texts, as
# `extern const std::string_view NAME` in namespace evo::embedded. A NAME without FILE is empty. NAME*=FILE,FILE,... is
# `extern const std::span<const std::string_view> NAME`. The source is made anew when a file changes.
function(evo_embed_text target)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded.cpp)
  set(files)
  foreach(entry ${ARGN})
    string(REGEX REPLACE "^[^=]*=" "" file ${entry})
    if(entry MATCHES "^[^=]*\\*=")
      string(REPLACE "," ";" file "${file}")
    endif()
    list(APPEND files ${file})
  endforeach()
  string(REPLACE ";" "|" entries "${ARGN}")
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D "ENTRIES=${entries}" -D "SOURCE=${source}"
            -P ${PROJECT_SOURCE_DIR}/cmake/write_embedded.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/write_embedded.cmake VERBATIM)
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()
