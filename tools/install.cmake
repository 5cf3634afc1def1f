# SPDX-License-Identifier: MIT
# The files to install, in four parts, one for each Debian package: command (with
# its manual pages and documents), library, development, and the MPI module.

# The command writes its manual pages, one for each verb.
add_custom_command(OUTPUT man1/girsanov.1.gz
  COMMAND ${CMAKE_SOURCE_DIR}/tools/manuals $<TARGET_FILE:girsanov_cli> man1
  DEPENDS girsanov_cli tools/manuals VERBATIM)
add_custom_target(manuals ALL DEPENDS man1/girsanov.1.gz)

install(TARGETS girsanov_cli RUNTIME COMPONENT command)
install(DIRECTORY ${CMAKE_BINARY_DIR}/man1
  DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT command)
install(FILES tools/girsanov.bash RENAME girsanov COMPONENT command
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES README.md COMPONENT command
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples COMPONENT command
  DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(TARGETS girsanov_shared EXPORT GirsanovTargets
  LIBRARY COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS girsanov_static EXPORT GirsanovStatic
  ARCHIVE COMPONENT development)
install(FILES include/girsanov.h COMPONENT development
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

if(TARGET girsanov_mpi)
  install(TARGETS girsanov_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT mpi)
endif()

# For pkg-config; the paths stay valid if the tree is moved.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(tools/girsanov.pc.in girsanov.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/girsanov.pc COMPONENT development
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# For CMake: find_package(Girsanov [COMPONENTS static]).
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Girsanov)
set_target_properties(girsanov_shared PROPERTIES EXPORT_NAME girsanov)
set_target_properties(girsanov_static PROPERTIES EXPORT_NAME static)
foreach(set GirsanovTargets GirsanovStatic)
  install(EXPORT ${set} NAMESPACE Girsanov:: DESTINATION ${package}
    COMPONENT development)
endforeach()
write_basic_package_version_file(GirsanovConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES tools/GirsanovConfig.cmake
  ${CMAKE_BINARY_DIR}/GirsanovConfigVersion.cmake
  DESTINATION ${package} COMPONENT development)
