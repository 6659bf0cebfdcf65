# cpp-httplib serves `evo watch`. Debian's package holds a shared library; the portable binary, and a machine without the
# package, take the header of a release, which is the whole library. Sets EVO_HTTPLIB, a text for people; empty when
# neither way led to it: evo is then built without `evo watch`.
set(evo_httplib_version 0.28.0)
set(evo_httplib_sha512
    02ec7dcd00d5be8a709127419d0bf206111f0929b9a71b21720349ad73c8c8001fa10fdb9fa82ce0ba2a112345725f04c6d12ed3810cb13b364576350ca0fc2e)
set(evo_httplib_folder ${CMAKE_BINARY_DIR}/_deps/httplib-${evo_httplib_version})

add_library(evo_httplib INTERFACE)
add_library(evo::httplib ALIAS evo_httplib)
set(EVO_HTTPLIB "")
find_package(Threads REQUIRED)
find_path(EVO_HTTPLIB_INCLUDE httplib.h)
find_library(EVO_HTTPLIB_LIBRARY cpp-httplib)
mark_as_advanced(EVO_HTTPLIB_INCLUDE EVO_HTTPLIB_LIBRARY)
if(EVO_HTTPLIB_INCLUDE AND EVO_HTTPLIB_LIBRARY AND NOT EVO_PORTABLE)
  set(EVO_HTTPLIB "installed as ${EVO_HTTPLIB_LIBRARY}")
  target_link_libraries(evo_httplib INTERFACE ${EVO_HTTPLIB_LIBRARY})
  target_include_directories(evo_httplib SYSTEM INTERFACE ${EVO_HTTPLIB_INCLUDE})
  # As the library was compiled: they decide what its classes hold.
  target_compile_definitions(evo_httplib INTERFACE
    CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT CPPHTTPLIB_BROTLI_SUPPORT)
else()
  set(evo_httplib_header ${evo_httplib_folder}/httplib.h)
  if(NOT EXISTS ${evo_httplib_header})
    file(DOWNLOAD https://raw.githubusercontent.com/yhirose/cpp-httplib/v${evo_httplib_version}/httplib.h
         ${evo_httplib_header} TIMEOUT 30)
  endif()
  file(SHA512 ${evo_httplib_header} evo_httplib_found)
  if(evo_httplib_found STREQUAL evo_httplib_sha512)
    set(EVO_HTTPLIB "${evo_httplib_version} fetched from https://github.com/yhirose/cpp-httplib")
    target_include_directories(evo_httplib SYSTEM INTERFACE ${evo_httplib_folder})
  else()
    file(REMOVE ${evo_httplib_header})  # A failed download leaves an empty file.
  endif()
endif()
if(EVO_HTTPLIB)
  message(STATUS "cpp-httplib: ${EVO_HTTPLIB}")
  target_compile_definitions(evo_httplib INTERFACE EVO_HTTPLIB)
  target_link_libraries(evo_httplib INTERFACE Threads::Threads)
else()
  message(WARNING "cpp-httplib ${evo_httplib_version} could not be fetched: `evo watch` and `evo run --watch` will say so. "
                  "Install libcpp-httplib-dev (not for the portable binary), or configure again with access to "
                  "raw.githubusercontent.com.")
endif()
