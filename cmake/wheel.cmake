# A wheel of the Python package with the portable program in it: cmake --build build/release --target wheel
find_package(Python3 COMPONENTS Interpreter)
if(EVO_PORTABLE_LACKS OR NOT Python3_FOUND)
  message(STATUS "no target wheel: python3 or a static library is missing: ${EVO_PORTABLE_LACKS}")
  return()
endif()
# What the program of the build is made of, linked once more.
add_executable(evo_portable EXCLUDE_FROM_ALL $<TARGET_OBJECTS:evo> cmake/portable/older_glibc.cpp)
target_link_libraries(evo_portable PRIVATE $<TARGET_PROPERTY:evo,LINK_LIBRARIES>)
target_link_options(evo_portable PRIVATE -Wl,--wrap=hypot)
set_target_properties(evo_portable PROPERTIES EVO_PORTABLE ON)
add_custom_target(wheel
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/wheel.py --program $<TARGET_FILE:evo_portable>
          --version ${PROJECT_VERSION} --strip ${CMAKE_STRIP} --output ${PROJECT_BINARY_DIR}
  DEPENDS evo_portable USES_TERMINAL VERBATIM)
