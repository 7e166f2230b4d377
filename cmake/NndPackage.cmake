# Packages of what is installed, for /usr: the plugin lies where the loader looks. `cpack` in the build directory makes a .deb of
# each component (NndInstall.cmake), `cpack -G TGZ` and `cpack -G RPM` one file with all of them; packaging/build makes them all,
# for any Linux (NND_PORTABLE).
# With SOURCE_DATE_EPOCH set, the same build gives the same bytes.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME nccl-net-diag)
set(CPACK_PACKAGE_VENDOR "nccl-net-diag")
set(CPACK_PACKAGE_CONTACT "The maintainers of nccl-net-diag")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_FILE_NAME nccl-net-diag-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PROJECT_CONFIG_FILE ${NND_SOURCE_DIR}/packaging/each.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${NND_SOURCE_DIR}/packaging/staged.cmake)

set(CPACK_COMPONENTS_ALL plugin)
if(NND_TOOLS)
  list(APPEND CPACK_COMPONENTS_ALL tools emulation)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PLUGIN_PACKAGE_NAME nccl-net-diag)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME nccl-net-diag-tools)
set(CPACK_DEBIAN_EMULATION_PACKAGE_NAME nccl-net-diag-emulation)
set(CPACK_COMPONENT_PLUGIN_DESCRIPTION "${PROJECT_DESCRIPTION}: the plugin that NCCL loads")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "${PROJECT_DESCRIPTION}: the program nccl-net-diag")
set(CPACK_COMPONENT_EMULATION_DESCRIPTION "Runs NCCL jobs on HCAs and GPUs that aren't there: for nccl-net-diag demo, rehearse and --scenario")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PLUGIN_PACKAGE_RECOMMENDS "libibverbs1, ibverbs-providers")
set(CPACK_DEBIAN_PLUGIN_PACKAGE_SUGGESTS nccl-net-diag-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS nccl-net-diag-emulation)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "nccl-net-diag (= ${PROJECT_VERSION})")
if(NND_PORTABLE) # also one that was built for another processor
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= ${NND_GLIBC_FLOOR})")
  string(APPEND CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS ", ${CPACK_DEBIAN_PACKAGE_DEPENDS}")
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RPM_COMPRESSION_TYPE xz)
set(CPACK_RPM_PACKAGE_SUGGESTS "libibverbs")
# Folders that other packages share.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
    /usr/lib64 /usr/lib/cmake /usr/lib/pkgconfig /usr/libexec /usr/share/man/man5 /usr/share/man/man7
    /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions
    /usr/share/fish /usr/share/fish/vendor_completions.d)
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _build_id_links none
%define _buildhost localhost
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define __requires_exclude_from ^/usr/(share|lib/nccl-net-diag)/.*$
%define __provides_exclude_from ^/usr/lib/nccl-net-diag/.*$") # neither an example's shell nor the emulated libibverbs is anybody's
include(CPack)
