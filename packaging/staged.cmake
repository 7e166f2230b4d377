# Run by cpack between installing into its own folder and packing that.
if(CPACK_GENERATOR STREQUAL "RPM") # whose distributions have their loader look there
  file(MAKE_DIRECTORY ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/lib64)
  file(CREATE_LINK ../lib/libnccl-net-diag.so ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/lib64/libnccl-net-diag.so SYMBOLIC)
endif()
if(DEFINED ENV{SOURCE_DATE_EPOCH}) # the same files at the same time
  execute_process(COMMAND find ${CPACK_TEMPORARY_INSTALL_DIRECTORY} -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +
                  COMMAND_ERROR_IS_FATAL ANY)
endif()
