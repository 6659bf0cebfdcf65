# uPlot draws the plots of the page that `evo report -o` writes. No Debian package has it. npm gets it where there is
# npm, because npm knows the machine's registry and proxy; else CMake downloads the same files from the repository of its
# sources. Sets EVO_UPLOT, the folder with dist/ and LICENSE; empty when neither way led to it: evo is then built without
# the page.
set(evo_uplot_version 1.6.32)
set(evo_uplot_files dist/uPlot.iife.min.js dist/uPlot.min.css LICENSE)
set(evo_uplot_sha512
    8df9b8c2bc60abbdd95c5cf260f46681f41def2623b6c1f9ed2cdf823a62797e2b8277c700c01926043560b4ec73a1ce5fed6d9c68e7905b9eadb73ca08da626
    c57618bc6a0fa8e8e13309299315930efec7be5cab93212acdce14485aff66d0580bb7a4944dc33410dc72a88c8f657344a49f7d9cdea9545c91d633271f6a7d
    26ad5134b24da27b0a962f68d6d7a72a206aa69c4cb376c494f32fd887cd5346d7c329ae88cc91978510807e395494c147539768312ddfe43e58f1f53be0cd55)
set(evo_uplot_folder ${CMAKE_BINARY_DIR}/_deps/uplot-${evo_uplot_version})

# Whether the files are there, unchanged. What is not of the release is removed.
function(evo_check_uplot from)
  set(found TRUE)
  foreach(file sha512 IN ZIP_LISTS evo_uplot_files evo_uplot_sha512)
    set(path ${evo_uplot_folder}/package/${file})
    set(hash)
    if(EXISTS ${path})
      file(SHA512 ${path} hash)
    endif()
    if(NOT hash STREQUAL sha512)
      set(found FALSE)
      file(REMOVE ${path})  # A failed download leaves an empty file.
    endif()
  endforeach()
  if(found)
    message(STATUS "uPlot: ${evo_uplot_version} from ${from}")
  endif()
  set(evo_uplot_found ${found} PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${evo_uplot_folder})
evo_check_uplot("an earlier configuration")
if(NOT evo_uplot_found)
  find_program(EVO_NPM npm)
  if(EVO_NPM)
    execute_process(COMMAND ${EVO_NPM} pack uplot@${evo_uplot_version} --silent --no-update-notifier --fetch-retries=1
                    WORKING_DIRECTORY ${evo_uplot_folder} RESULT_VARIABLE evo_npm_failed OUTPUT_QUIET ERROR_QUIET TIMEOUT 30)
    if(evo_npm_failed STREQUAL 0)
      file(ARCHIVE_EXTRACT INPUT ${evo_uplot_folder}/uplot-${evo_uplot_version}.tgz DESTINATION ${evo_uplot_folder})
    endif()
    evo_check_uplot(npm)
  endif()
endif()
if(NOT evo_uplot_found)
  foreach(file ${evo_uplot_files})
    file(DOWNLOAD https://raw.githubusercontent.com/leeoniya/uPlot/${evo_uplot_version}/${file}
         ${evo_uplot_folder}/package/${file} TIMEOUT 30 STATUS evo_uplot_status)
    list(GET evo_uplot_status 0 evo_uplot_failed)
    if(evo_uplot_failed)
      break()  # A machine without a network waits once.
    endif()
  endforeach()
  evo_check_uplot(https://github.com/leeoniya/uPlot)
endif()

set(EVO_UPLOT "")
if(evo_uplot_found)
  set(EVO_UPLOT ${evo_uplot_folder}/package)
else()
  message(WARNING "uPlot ${evo_uplot_version} could not be fetched: `evo report -o FILE.html` will say so. "
                  "Configure again with npm, or with access to raw.githubusercontent.com.")
endif()
