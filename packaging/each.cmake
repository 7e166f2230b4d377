# What differs from package to package: read by cpack before it makes each.
if(CPACK_GENERATOR STREQUAL "TGZ") # unpacked anywhere
  set(CPACK_PACKAGING_INSTALL_PREFIX /)
endif()
