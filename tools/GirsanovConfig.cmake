# SPDX-License-Identifier: MIT
# Girsanov::girsanov is the shared library; with COMPONENTS static there is
# Girsanov::static, too, which needs what the library itself is linked with.
include(CMakeFindDependencyMacro)
include(${CMAKE_CURRENT_LIST_DIR}/GirsanovTargets.cmake)
set(Girsanov_static_FOUND FALSE)
if("static" IN_LIST Girsanov_FIND_COMPONENTS)
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_dependency(Threads)
  find_dependency(PkgConfig)
  pkg_check_modules(GSV_JANSSON REQUIRED QUIET IMPORTED_TARGET jansson)
  pkg_check_modules(GSV_BLAS REQUIRED QUIET IMPORTED_TARGET openblas)
  pkg_check_modules(GSV_LBFGS REQUIRED QUIET IMPORTED_TARGET liblbfgs)
  include(${CMAKE_CURRENT_LIST_DIR}/GirsanovStatic.cmake)
  set(Girsanov_static_FOUND TRUE)
endif()
foreach(component ${Girsanov_FIND_COMPONENTS})
  if(NOT Girsanov_${component}_FOUND AND Girsanov_FIND_REQUIRED_${component})
    set(Girsanov_FOUND FALSE)
    set(Girsanov_NOT_FOUND_MESSAGE
      "there is no component ${component}, only static")
  endif()
endforeach()
