# Tests of the sources and of the package, not of the code.
set(checks ${CMAKE_CURRENT_SOURCE_DIR}/packaging)
set(scratch ${PROJECT_BINARY_DIR}/packaging)

add_test(NAME layering COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${checks}/layering.cmake)
add_test(NAME house_rules COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${checks}/house_rules.cmake)
add_test(NAME planted_faults
  COMMAND ${CMAKE_COMMAND} -DCHECKS=${checks} -DWORK=${scratch}/planted -P ${checks}/planted.cmake)

# Every public header compiles alone.
add_test(NAME headers COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target all_verify_interface_header_sets)

set(flags "${CMAKE_CXX_FLAGS}")
if(REEL_SANITIZE)
  string(APPEND flags " -fsanitize=${REEL_SANITIZE}")
endif()
foreach(how find_package add_subdirectory)
  add_test(NAME consumer_${how}
    COMMAND ${CMAKE_COMMAND} -DHOW=${how} -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
      -DWORK=${scratch}/${how} -DCOMPILER=${CMAKE_CXX_COMPILER} "-DFLAGS=${flags}" -P ${checks}/consumer.cmake)
endforeach()

# The training loop of the README, compiled from the README itself.
set(loop ${CMAKE_CURRENT_BINARY_DIR}/readme_loop.cpp)
add_custom_command(OUTPUT ${loop}
  COMMAND ${CMAKE_COMMAND} -DFROM=${PROJECT_SOURCE_DIR}/README.md -DTO=${loop} -P ${checks}/extract.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/README.md ${checks}/extract.cmake VERBATIM)
add_executable(readme_loop ${loop})
target_link_libraries(readme_loop PRIVATE reel::reel reel_build_flags)
add_test(NAME readme_loop COMMAND readme_loop)

set_tests_properties(layering house_rules planted_faults headers consumer_find_package consumer_add_subdirectory
  readme_loop PROPERTIES LABELS package TIMEOUT 1200)
set_tests_properties(headers consumer_add_subdirectory PROPERTIES COST 100) # long, so they start first
