# `cmake --install`: libraries, headers, the package for find_package(reel), programs and the digits.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/reel)

get_target_property(modules reel REEL_MODULES)
install(TARGETS reel ${modules} EXPORT reelTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT reelTargets NAMESPACE reel:: DESTINATION ${package})
install(DIRECTORY data/digits DESTINATION ${CMAKE_INSTALL_DATADIR}/reel)
if(TARGET reel-train)
  install(TARGETS reel-train RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# Programs link what static libraries were built with; shared ones bring it along.
set(dependencies "")
get_target_property(kind reel_core TYPE)
if(kind STREQUAL "STATIC_LIBRARY")
  if(REEL_OPENMP_TARGET)
    string(APPEND dependencies "find_dependency(OpenMP COMPONENTS CXX)\n")
  endif()
  if(REEL_ONEDNN_TARGET)
    install(FILES cmake/onednn.cmake DESTINATION ${package})
    string(APPEND dependencies "include(\${CMAKE_CURRENT_LIST_DIR}/onednn.cmake)
if(NOT TARGET reel::onednn)
  set(reel_FOUND FALSE)
  set(reel_NOT_FOUND_MESSAGE \"oneDNN (libdnnl-dev) was not found, which this Reel was built with\")
  return()
endif()\n")
  endif()
  if(REEL_ZLIB_TARGET)
    string(APPEND dependencies "find_dependency(ZLIB)\n")
  endif()
endif()
configure_package_config_file(cmake/reelConfig.cmake.in ${PROJECT_BINARY_DIR}/reelConfig.cmake
  INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_DATADIR
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/reelConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/reelConfig.cmake ${PROJECT_BINARY_DIR}/reelConfigVersion.cmake DESTINATION ${package})
