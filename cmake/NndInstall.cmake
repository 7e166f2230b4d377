# What is installed: the plugin, the tool, and the public headers with a pkg-config file and a CMake package.
include(CMakePackageConfigHelpers)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/nccl_net_diag DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/include/nccl_net_diag/event.schema.json ${PROJECT_SOURCE_DIR}/include/nccl_net_diag/report.schema.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/nccl-net-diag)
install(TARGETS nnd_public EXPORT nccl-net-diag-targets)
install(EXPORT nccl-net-diag-targets NAMESPACE nccl-net-diag:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nccl-net-diag)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/nccl-net-diag-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/nccl-net-diag-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nccl-net-diag)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/nccl-net-diag-config-version.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/nccl-net-diag-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/nccl-net-diag-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nccl-net-diag)
# Relative: a package has another prefix than this tree was made for.
file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/cmake/nccl-net-diag.pc.in ${CMAKE_CURRENT_BINARY_DIR}/nccl-net-diag.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/nccl-net-diag.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
