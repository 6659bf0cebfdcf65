# Third-party libraries: Debian's packages where installed, else fetched. Targets used by the project:
# evo::fmt evo::spdlog evo::sqlite evo::zlib nlohmann_json::nlohmann_json CLI11::CLI11 evo::xxhash Catch2::Catch2WithMain evo::cuda_headers
# evo::curl_headers evo::dtl
include(FetchContent)
set(FETCHCONTENT_QUIET ON)

macro(evo_dependency name repository tag)
  FetchContent_Declare(${name} GIT_REPOSITORY ${repository} GIT_TAG ${tag} GIT_SHALLOW TRUE
                       SYSTEM FIND_PACKAGE_ARGS ${ARGN})
  FetchContent_MakeAvailable(${name})
  if(${${name}_FOUND})
    message(STATUS "${name}: ${${name}_VERSION} installed in ${${name}_DIR}")
  else()
    message(STATUS "${name}: ${tag} fetched from ${repository}")
  endif()
endmacro()

evo_dependency(fmt https://github.com/fmtlib/fmt 10.2.1)
set(SPDLOG_FMT_EXTERNAL ON)
evo_dependency(spdlog https://github.com/gabime/spdlog v1.14.1)
evo_dependency(nlohmann_json https://github.com/nlohmann/json v3.11.3)
evo_dependency(CLI11 https://github.com/CLIUtils/CLI11 v2.4.2)
set(SQLITECPP_RUN_CPPLINT OFF)
set(SQLITECPP_RUN_CPPCHECK OFF)
evo_dependency(SQLiteCpp https://github.com/SRombauts/SQLiteCpp 3.3.2)
if(EVO_TESTS)
  evo_dependency(Catch2 https://github.com/catchorg/Catch2 v3.7.1 3)
  if(NOT Catch2_FOUND)
    list(APPEND CMAKE_MODULE_PATH ${Catch2_SOURCE_DIR}/extras)
  endif()
endif()

# A program with the property EVO_PORTABLE links everything but glibc statically. It has the same layers as others.
define_property(TARGET PROPERTY EVO_PORTABLE INITIALIZE_FROM_VARIABLE EVO_PORTABLE)
set(evo_portable $<BOOL:$<TARGET_PROPERTY:EVO_PORTABLE>>)
set(EVO_PORTABLE_LACKS)  # Static libraries that are missing here.
add_link_options($<${evo_portable}:-static-libstdc++> $<${evo_portable}:-static-libgcc>)

# evo_choose(TARGET SHARED STATIC...): a program that links TARGET links SHARED or, a portable one, STATIC.
function(evo_choose target shared)
  target_link_libraries(${target} INTERFACE $<$<NOT:${evo_portable}>:${shared}>)
  foreach(static ${ARGN})
    target_link_libraries(${target} INTERFACE $<${evo_portable}:${static}>)
  endforeach()
endfunction()

# evo_wrap(TARGET LIBRARY SOURCE): LIBRARY, or what SOURCE makes of its headers where it is a shared library.
function(evo_wrap target library source)
  add_library(${target} INTERFACE)
  get_target_property(type ${library} TYPE)
  if(NOT type STREQUAL SHARED_LIBRARY)
    target_link_libraries(${target} INTERFACE ${library})
    return()
  endif()
  add_library(${target}_static STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/portable/${source})
  target_compile_definitions(${target}_static PUBLIC $<TARGET_PROPERTY:${library},INTERFACE_COMPILE_DEFINITIONS>)
  target_include_directories(${target}_static SYSTEM PUBLIC
                             $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
  evo_choose(${target} ${library} ${target}_static)
endfunction()

# evo_find_static(VARIABLE FILE): a static library of the system.
function(evo_find_static variable file)
  find_library(${variable} ${file})
  if(NOT ${variable})
    set(EVO_PORTABLE_LACKS ${EVO_PORTABLE_LACKS} ${file} PARENT_SCOPE)
  endif()
endfunction()

evo_wrap(evo_spdlog spdlog::spdlog spdlog.cpp)
evo_wrap(evo_fmt fmt::fmt fmt.cpp)
add_library(evo::fmt ALIAS evo_fmt)
add_library(evo::spdlog ALIAS evo_spdlog)

add_library(evo_sqlite INTERFACE)
find_package(SQLite3 QUIET)
if(SQLiteCpp_FOUND)
  evo_find_static(EVO_SQLITE3_STATIC libsqlite3.a)
  evo_find_static(EVO_SQLITECPP_STATIC libSQLiteCpp.a)
  evo_choose(evo_sqlite SQLiteCpp ${EVO_SQLITECPP_STATIC} ${EVO_SQLITE3_STATIC} ${CMAKE_DL_LIBS} m)
else()
  target_link_libraries(evo_sqlite INTERFACE SQLiteCpp)
endif()
add_library(evo::sqlite ALIAS evo_sqlite)

# Debian's package installs no CMake configuration, and zlib's own project names its targets otherwise.
add_library(evo_zlib INTERFACE)
find_package(ZLIB QUIET)
if(ZLIB_FOUND)
  message(STATUS "zlib: ${ZLIB_VERSION} installed")
  evo_find_static(EVO_ZLIB_STATIC libz.a)
  evo_choose(evo_zlib ZLIB::ZLIB ${EVO_ZLIB_STATIC})
else()
  message(STATUS "zlib: v1.3.1 fetched from https://github.com/madler/zlib")
  set(ZLIB_BUILD_EXAMPLES OFF)
  FetchContent_Declare(zlib GIT_REPOSITORY https://github.com/madler/zlib GIT_TAG v1.3.1 GIT_SHALLOW TRUE SYSTEM)
  FetchContent_MakeAvailable(zlib)
  target_link_libraries(evo_zlib INTERFACE zlibstatic)
  target_include_directories(evo_zlib SYSTEM INTERFACE ${zlib_SOURCE_DIR} ${zlib_BINARY_DIR})
endif()
add_library(evo::zlib ALIAS evo_zlib)

# xxhash is used as a header (XXH_INLINE_ALL).
add_library(evo_xxhash INTERFACE)
find_path(EVO_XXHASH_INCLUDE xxhash.h)
if(NOT EVO_XXHASH_INCLUDE)
  FetchContent_Declare(xxhash GIT_REPOSITORY https://github.com/Cyan4973/xxHash GIT_TAG v0.8.2 GIT_SHALLOW TRUE)
  FetchContent_Populate(xxhash)
  set(EVO_XXHASH_INCLUDE ${xxhash_SOURCE_DIR})
endif()
message(STATUS "xxhash: ${EVO_XXHASH_INCLUDE}")
target_include_directories(evo_xxhash SYSTEM INTERFACE ${EVO_XXHASH_INCLUDE})
add_library(evo::xxhash ALIAS evo_xxhash)

# dtl is headers alone, too.
add_library(evo_dtl INTERFACE)
find_path(EVO_DTL_INCLUDE dtl/dtl.hpp)
if(NOT EVO_DTL_INCLUDE)
  FetchContent_Declare(dtl GIT_REPOSITORY https://github.com/cubicdaiya/dtl GIT_TAG v1.20 GIT_SHALLOW TRUE)
  FetchContent_Populate(dtl)
  set(EVO_DTL_INCLUDE ${dtl_SOURCE_DIR})
endif()
message(STATUS "dtl: ${EVO_DTL_INCLUDE}")
target_include_directories(evo_dtl SYSTEM INTERFACE ${EVO_DTL_INCLUDE})
add_library(evo::dtl ALIAS evo_dtl)

# Headers only: nothing of CUDA is linked, libcuda and libnvrtc are found at run time.
add_library(evo_cuda_headers INTERFACE)
find_path(EVO_CUDA_INCLUDE nvrtc.h PATHS $ENV{CUDA_HOME}/include /usr/local/cuda/include REQUIRED)
message(STATUS "CUDA headers: ${EVO_CUDA_INCLUDE}")
target_include_directories(evo_cuda_headers SYSTEM INTERFACE ${EVO_CUDA_INCLUDE})
add_library(evo::cuda_headers ALIAS evo_cuda_headers)

# Headers only, as above: libcurl is found at run time. Without them evo is built without --llm, which then says so.
add_library(evo_curl_headers INTERFACE)
find_path(EVO_CURL_INCLUDE curl/curl.h)
if(EVO_CURL_INCLUDE)
  message(STATUS "libcurl headers: ${EVO_CURL_INCLUDE}")
  target_include_directories(evo_curl_headers SYSTEM INTERFACE ${EVO_CURL_INCLUDE})
  target_compile_definitions(evo_curl_headers INTERFACE EVO_CURL)
else()
  message(STATUS "libcurl headers: none; evo run --llm will say so (Debian: libcurl4-openssl-dev)")
endif()
add_library(evo::curl_headers ALIAS evo_curl_headers)
