# Flags for the library's own files. They travel no further: nothing of the caller's is changed.
add_library(reel_build_flags INTERFACE)
target_compile_options(reel_build_flags INTERFACE
  $<$<CXX_COMPILER_ID:GNU,Clang>:-Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor>
  $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>
  # GCC 12 warns of its own AVX-512 headers.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  # Where clang cannot vectorise a loop that asks for it, the loop is right but slower.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>
  # GCC 12 and 13 warn of their own std::string (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # Loops vectorise only if the library promises not to read errno or the floating-point traps.
  $<$<CXX_COMPILER_ID:GNU,Clang>:-fno-math-errno -fno-trapping-math -fopenmp-simd>
  $<$<AND:$<BOOL:${REEL_NATIVE}>,$<CXX_COMPILER_ID:GNU,Clang>>:-march=native>
  $<$<AND:$<BOOL:${REEL_NATIVE}>,$<CXX_COMPILER_ID:GNU>>:-mprefer-vector-width=512>
  $<$<BOOL:${REEL_WERROR}>:-Werror>)
if(REEL_SANITIZE)
  target_compile_options(reel_build_flags INTERFACE -fsanitize=${REEL_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(reel_build_flags INTERFACE -fsanitize=${REEL_SANITIZE})
  if(REEL_SANITIZE MATCHES "undefined")
    target_compile_options(reel_build_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()
