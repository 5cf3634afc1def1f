# SPDX-License-Identifier: MIT
# build/alone/libgirsanov.so is the library with BLAS, Jansson and L-BFGS inside:
# it needs glibc and nothing else, and lets out gsv_ alone, so that NumPy's BLAS
# and ours never meet. Packages that carry themselves have it in them ('make wheel').
find_library(GSV_JANSSON_ARCHIVE libjansson.a)
find_library(GSV_LBFGS_ARCHIVE liblbfgs.a)
find_library(GSV_BLAS_ARCHIVE libopenblas.a PATH_SUFFIXES openblas-serial)
if(NOT (GSV_JANSSON_ARCHIVE AND GSV_LBFGS_ARCHIVE AND GSV_BLAS_ARCHIVE))
  add_custom_target(girsanov_alone COMMAND ${CMAKE_COMMAND} -E echo
    "libjansson.a, liblbfgs.a and libopenblas.a are needed, not all are installed"
    COMMAND ${CMAKE_COMMAND} -E false)
  return()
endif()

add_custom_command(OUTPUT alone/libjansson.a
  COMMAND ${CMAKE_COMMAND} -E make_directory alone
  COMMAND ${CMAKE_OBJCOPY} --redefine-sym stdin=alone_stdin
    ${GSV_JANSSON_ARCHIVE} alone/libjansson.a
  DEPENDS ${GSV_JANSSON_ARCHIVE} VERBATIM)
add_library(girsanov_alone SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:core>
  tools/alone.c alone/libjansson.a)
target_link_libraries(girsanov_alone PRIVATE
  ${CMAKE_BINARY_DIR}/alone/libjansson.a ${GSV_LBFGS_ARCHIVE}
  ${GSV_BLAS_ARCHIVE} Threads::Threads ${CMAKE_DL_LIBS} m)
target_link_options(girsanov_alone PRIVATE -s -Wl,-z,defs
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/tools/exports.map)
set_target_properties(girsanov_alone PROPERTIES OUTPUT_NAME girsanov
  LIBRARY_OUTPUT_DIRECTORY alone)
