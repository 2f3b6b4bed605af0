# oneDNN by its header and its library, as the target reel::onednn. Its own package file ends the configuration where
# the headers of OpenCL are absent, and nothing here needs those. Also a part of the installed package.
find_path(REEL_ONEDNN_INCLUDE dnnl.hpp)
find_library(REEL_ONEDNN_LIBRARY dnnl)
mark_as_advanced(REEL_ONEDNN_INCLUDE REEL_ONEDNN_LIBRARY)
if(REEL_ONEDNN_INCLUDE AND REEL_ONEDNN_LIBRARY AND NOT TARGET reel::onednn)
  add_library(reel::onednn UNKNOWN IMPORTED)
  set_target_properties(reel::onednn PROPERTIES
    IMPORTED_LOCATION ${REEL_ONEDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${REEL_ONEDNN_INCLUDE})
endif()
