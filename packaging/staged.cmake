# Run by cpack between installing into its own folder and packing that.
if(CPACK_GENERATOR STREQUAL "RPM") # whose distributions have their loader look there
  file(MAKE_DIRECTORY ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/lib64)
  file(CREATE_LINK ../lib/libnccl-net-diag.so ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/lib64/libnccl-net-diag.so SYMBOLIC)
endif()
if(CPACK_GENERATOR STREQUAL "DEB") # each package with its licence, in a folder that bears its name
  set(shared usr/share/doc/nccl-net-diag)
  foreach(component tools emulation)
    if(EXISTS ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component})
      file(COPY ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/plugin/${shared}/
           DESTINATION ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/${shared}-${component})
    endif()
  endforeach()
endif()
if(DEFINED ENV{SOURCE_DATE_EPOCH}) # the same files at the same time
  execute_process(COMMAND find ${CPACK_TEMPORARY_INSTALL_DIRECTORY} -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +
                  COMMAND_ERROR_IS_FATAL ANY)
endif()
