# A Debian package of what `cmake --install` installs: cpack --config BUILD/CPackConfig.cmake
set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_NAME evo)
set(CPACK_PACKAGE_CONTACT "The maintainers of evo <evo@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "search for the fastest correct CUDA kernel of a task")
set(CPACK_PACKAGE_DESCRIPTION "evo evolves CUDA kernels from templates, checks each against a reference and times it.
Without a GPU it runs them on a virtual one. It needs NVRTC of the CUDA Toolkit, 12.8 or newer.")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# The packages of the shared libraries that evo is linked with, where the tools that find them are there.
find_program(EVO_DPKG_SHLIBDEPS dpkg-shlibdeps)
find_program(EVO_FILE file)
mark_as_advanced(EVO_DPKG_SHLIBDEPS EVO_FILE)
if(EVO_DPKG_SHLIBDEPS AND EVO_FILE)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
# zsh of Debian looks for the completions of packages in a folder of its own.
install(FILES ${PROJECT_SOURCE_DIR}/cli/shell/completion.zsh DESTINATION share/zsh/vendor-completions RENAME _evo
        COMPONENT evo_debian EXCLUDE_FROM_ALL)
# Debian looks for the licence of a package in this file.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/evo RENAME copyright COMPONENT evo_debian EXCLUDE_FROM_ALL)
# Only evo's own files, not those of libraries that were fetched.
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};evo;evo;/" "${CMAKE_BINARY_DIR};evo;evo_debian;/")
include(CPack)
