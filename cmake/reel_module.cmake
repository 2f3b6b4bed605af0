# reel_module(<name> [SEES <modules>] [LINK <private libraries>] [HEADERS_OF <private libraries>] [WITHOUT <files>])
# One library for each top-level folder: every *.h and *.cpp below it, less those WITHOUT. It sees only what is listed.
# Of HEADERS_OF only headers are used: programs that link the library need not have them.
function(reel_module name)
  cmake_parse_arguments(arg "" "" "SEES;LINK;HEADERS_OF;WITHOUT" ${ARGN})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${name}/*.h)
  list(FILTER headers EXCLUDE REGEX "_impl\\.h$") # shared by the sources of one folder, not installed
  list(TRANSFORM headers PREPEND ${PROJECT_BINARY_DIR}/include/reel/)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cpp)
  list(TRANSFORM arg_WITHOUT PREPEND ${PROJECT_SOURCE_DIR}/${name}/)
  list(REMOVE_ITEM sources "" ${arg_WITHOUT})
  if(NOT sources)
    return()
  endif()
  add_library(reel_${name} ${sources})
  add_library(reel::${name} ALIAS reel_${name})
  set_target_properties(reel_${name} PROPERTIES
    EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    POSITION_INDEPENDENT_CODE ON
    VERIFY_INTERFACE_HEADER_SETS ON)
  target_compile_features(reel_${name} PUBLIC cxx_std_20)
  target_sources(reel_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_BINARY_DIR}/include FILES ${headers})
  list(TRANSFORM arg_SEES PREPEND reel_)
  set(local reel_build_flags ${arg_HEADERS_OF})
  list(TRANSFORM local REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>")
  target_link_libraries(reel_${name} PUBLIC ${arg_SEES} PRIVATE ${arg_LINK} ${local})
  set_property(TARGET reel APPEND PROPERTY REEL_MODULES reel_${name})
  target_link_libraries(reel INTERFACE reel_${name})
endfunction()

# reel_program(<target> <sources>): a program in bin/ that uses the whole library.
function(reel_program name)
  add_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  target_link_libraries(${name} PRIVATE reel::reel reel_build_flags)
endfunction()
