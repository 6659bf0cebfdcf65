# uPlot draws the plots of the page that `evo report -o` writes. No Debian package has it. npm gets it where there is
# npm, because npm knows the machine's registry and proxy; else CMake downloads the same package. Its hash is npm's
# `dist.integrity`. Sets EVO_UPLOT, the folder with dist/ and LICENSE; empty when neither way led to it: evo is then built
# without the page.
set(evo_uplot_version 1.6.32)
set(evo_uplot_sha512
    2883159c6ebccefbb95d751b0b82d010f9e1c0ec41b8bc96d401eda66e882935c89a46cb824332fa369b8cb8122cc6ac36e186cd09bf7a9ded3a4c93c6989023)
set(evo_uplot_folder ${CMAKE_BINARY_DIR}/_deps/uplot-${evo_uplot_version})
set(evo_uplot_package ${evo_uplot_folder}/uplot-${evo_uplot_version}.tgz)

# Whether the package is there, unchanged. What is not the release is removed.
function(evo_check_uplot from)
  set(found FALSE)
  if(EXISTS ${evo_uplot_package})
    file(SHA512 ${evo_uplot_package} hash)
    if(hash STREQUAL evo_uplot_sha512)
      set(found TRUE)
      message(STATUS "uPlot: ${evo_uplot_version} from ${from}")
    else()
      file(REMOVE ${evo_uplot_package})
      message(WARNING "uPlot ${evo_uplot_version} from ${from} is not the release: its SHA-512 is ${hash}")
    endif()
  endif()
  set(evo_uplot_found ${found} PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${evo_uplot_folder})
evo_check_uplot("an earlier configuration")
if(NOT evo_uplot_found)
  find_program(EVO_NPM npm)
  if(EVO_NPM)
    execute_process(COMMAND ${EVO_NPM} pack uplot@${evo_uplot_version} --silent --no-update-notifier --fetch-retries=1
                    WORKING_DIRECTORY ${evo_uplot_folder} OUTPUT_QUIET ERROR_QUIET TIMEOUT 30)
    evo_check_uplot(npm)
  endif()
endif()
if(NOT evo_uplot_found)
  file(DOWNLOAD https://registry.npmjs.org/uplot/-/uplot-${evo_uplot_version}.tgz ${evo_uplot_package}
       STATUS evo_uplot_status TIMEOUT 30)
  list(GET evo_uplot_status 0 evo_uplot_failed)
  if(evo_uplot_failed)
    file(REMOVE ${evo_uplot_package})  # A failed download leaves an empty file.
  endif()
  evo_check_uplot(registry.npmjs.org)
endif()

set(EVO_UPLOT "")
if(evo_uplot_found)
  file(ARCHIVE_EXTRACT INPUT ${evo_uplot_package} DESTINATION ${evo_uplot_folder})
  set(EVO_UPLOT ${evo_uplot_folder}/package)
else()
  message(WARNING "uPlot ${evo_uplot_version} could not be fetched: `evo report -o FILE.html` will say so. "
                  "Configure again with access to registry.npmjs.org, or with npm.")
endif()
