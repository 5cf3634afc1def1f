# SPDX-License-Identifier: MIT
# make deb: the packages girsanov, libgirsanovN and libgirsanov-dev by CPack.
# Their dependencies on libraries are those that dpkg-shlibdeps finds.
option(GSV_DEBIAN "Debian's packages" OFF)
if(NOT GSV_DEBIAN)
  return()
endif()
set(library libgirsanov${soversion})

if(DEFINED ENV{DEBEMAIL})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  set(CPACK_PACKAGE_CONTACT "the Girsanov authors <girsanov@localhost>")
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL command library development)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE
  OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME girsanov)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION
  "learns stochastic differential equations from time series
 A model is a text that states the equations, with formulas or networks for
 what is not known. This is the command, with its documents.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
  "learns stochastic differential equations (shared library)
 Likelihoods of stochastic differential equations given time series, their
 gradients, and fits. This is what programs need to run.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libgirsanov-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "${library} (= ${version}), libjansson-dev, libopenblas-dev, liblbfgs-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "learns stochastic differential equations (development files)
 Likelihoods of stochastic differential equations given time series, their
 gradients, and fits. This is what programs need to be built.")

# Every package says who may copy it, and what became new.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${CMAKE_BINARY_DIR}/changelog
  "girsanov (${version}) unstable; urgency=medium\n\n"
  "  * Version ${version}: CHANGELOG.md has what is new.\n\n"
  " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
execute_process(COMMAND gzip -9nf ${CMAKE_BINARY_DIR}/changelog)
foreach(part COMMAND LIBRARY DEVELOPMENT)
  string(TOLOWER ${part} component)
  set(place ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${part}_PACKAGE_NAME})
  install(FILES LICENSE RENAME copyright DESTINATION ${place}
    COMPONENT ${component})
  install(FILES ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${place}
    COMPONENT ${component})
endforeach()
include(CPack)
