# cmake -DHOW=<find_package|add_subdirectory> -DSOURCE=<sources> -DBUILD=<build folder> -DWORK=<scratch folder>
#       -DCOMPILER=<c++> -DFLAGS=<flags> -P consumer.cmake
# A stranger's project is configured, built and run against the library: as a folder of theirs, or installed to a
# prefix that is moved afterwards, so that no path into the build or the first prefix may be left.
cmake_minimum_required(VERSION 3.25)
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE rc OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT rc EQUAL 0)
    list(JOIN ARGN " " command)
    message("${out}")
    message(FATAL_ERROR "failed: ${command}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
if(HOW STREQUAL "find_package")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
  file(RENAME ${WORK}/first ${WORK}/moved)
  set(where -DCMAKE_PREFIX_PATH=${WORK}/moved)
  file(GLOB_RECURSE package ${WORK}/moved/*.cmake)
  foreach(file IN LISTS package)
    file(STRINGS ${file} paths REGEX "${BUILD}|${SOURCE}|${WORK}/first")
    if(paths)
      message(SEND_ERROR "${file} holds a path that is not the user's: ${paths}")
    endif()
  endforeach()
else()
  # Without the back ends and without optimisation, for time: it is the build that is tested.
  set(where -DREEL_SOURCE=${SOURCE} -DREEL_ONEDNN=OFF -DREEL_EIGEN=OFF)
  string(APPEND FLAGS " -O0")
endif()
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/tests/consumers -B ${WORK}/build -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_CXX_FLAGS=${FLAGS} ${where})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${CMAKE_COMMAND} -E chdir / ${WORK}/build/consumer)
message(STATUS "${out}")
file(REMOVE_RECURSE ${WORK})
