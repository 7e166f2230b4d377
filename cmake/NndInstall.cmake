# What is installed beside the plugin and the tool: the public headers with a pkg-config file and a CMake package, the pages, the
# examples, and the licence. Components are packages: "plugin" is what a job needs and what reads of it, "tools" the program and
# what it starts, "emulation" all that tools/emulation brings.
include(CMakePackageConfigHelpers)
install(DIRECTORY ${NND_SOURCE_DIR}/include/nccl_net_diag DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT plugin FILES_MATCHING PATTERN "*.h")
install(FILES ${NND_SOURCE_DIR}/include/nccl_net_diag/event.schema.json ${NND_SOURCE_DIR}/include/nccl_net_diag/report.schema.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/nccl-net-diag COMPONENT plugin)
install(TARGETS nnd_public EXPORT nccl-net-diag-targets COMPONENT plugin)
install(EXPORT nccl-net-diag-targets NAMESPACE nccl-net-diag::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nccl-net-diag COMPONENT plugin)
configure_package_config_file(${NND_SOURCE_DIR}/cmake/nccl-net-diag-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/nccl-net-diag-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nccl-net-diag)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/nccl-net-diag-config-version.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/nccl-net-diag-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/nccl-net-diag-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nccl-net-diag COMPONENT plugin)
# Relative: a package has another prefix than this tree was made for.
file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${NND_SOURCE_DIR}/cmake/nccl-net-diag.pc.in ${CMAKE_CURRENT_BINARY_DIR}/nccl-net-diag.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/nccl-net-diag.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT plugin)

# The pages and the examples, as they lie here: their links lead to each other. A container's image often leaves out share/doc.
set(data ${CMAKE_INSTALL_DATADIR}/nccl-net-diag)
set(program OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(FILES ${NND_SOURCE_DIR}/README.md ${NND_SOURCE_DIR}/LICENSE DESTINATION ${data} COMPONENT plugin)
install(DIRECTORY ${NND_SOURCE_DIR}/docs DESTINATION ${data} COMPONENT plugin)
install(DIRECTORY ${NND_SOURCE_DIR}/examples DESTINATION ${data} COMPONENT tools PATTERN scenarios EXCLUDE PATTERN helm/files EXCLUDE PATTERN "*.sh" PERMISSIONS ${program} PATTERN "*.py" PERMISSIONS ${program})
# What the chart's links show is files in a package: a wheel has no links.
file(GLOB shown CONFIGURE_DEPENDS ${NND_SOURCE_DIR}/examples/grafana/*.json ${NND_SOURCE_DIR}/examples/prometheus/*.rules.yml)
install(FILES ${shown} DESTINATION ${data}/examples/helm/files COMPONENT tools)
install(FILES ${NND_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT plugin RENAME copyright)
if(NND_PORTABLE)
  # Of what is inside the programs, in the words of the distribution that it came from.
  set(licences "")
  foreach(package libfmt-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libsimdjson-dev zlib1g-dev libzstd-dev libsodium-dev
                  libdw-dev libelf-dev libmicrohttpd-dev libstdc++6)
    file(READ /usr/share/doc/${package}/copyright text)
    string(APPEND licences "==== ${package}\n${text}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/third-party-licences CONTENT "${licences}" @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/third-party-licences DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT plugin)
endif()

# The pages that one looks up, as man pages: nnd_page(SECTION NAME PAGE WHAT).
find_program(NND_LOWDOWN lowdown)
function(nnd_page section name page what)
  set(full nccl-net-diag-${name})
  set(source ${NND_SOURCE_DIR}/docs/${page}.md)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${full}.${section})
  add_custom_command(OUTPUT ${out} DEPENDS ${source} VERBATIM
    COMMAND ${CMAKE_COMMAND} -E echo "# NAME" > ${out}.md
    COMMAND ${CMAKE_COMMAND} -E echo "" >> ${out}.md
    COMMAND ${CMAKE_COMMAND} -E echo "${full} - ${what}" >> ${out}.md
    COMMAND ${CMAKE_COMMAND} -E echo "" >> ${out}.md
    COMMAND ${CMAKE_COMMAND} -E cat ${source} >> ${out}.md
    COMMAND ${NND_LOWDOWN} -s -tman -M title=${full} -M section=${section} -M source=nccl-net-diag -o ${out} ${out}.md)
  add_custom_target(page_${name} ALL DEPENDS ${out})
  install(FILES ${out} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT plugin)
endfunction()
if(NND_LOWDOWN)
  nnd_page(5 policy policy "the policy file")
  nnd_page(5 events events "the event log")
  nnd_page(7 variables variables "environment variables of the plugin")
  nnd_page(7 causes causes "the causes that events and reports name")
elseif(NND_PORTABLE)
  message(FATAL_ERROR "the man pages of a package need lowdown")
endif()
