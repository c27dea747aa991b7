# SPDX-License-Identifier: Apache-2.0
# Every target of the project is made by one of these functions, so that flags, arrows and the test variant are the same everywhere.
#
#   bailiff_library(NAME [KERNEL_ONLY] SOURCES … ROOMS … LIBRARIES …)
#   bailiff_program(NAME [DYNAMIC] SOURCES … ROOMS … LIBRARIES …)
#
# ROOMS are libraries of ours (an arrow of the house), LIBRARIES come from outside. With BAILIFF_TESTS each target gets a twin
# NAME_testing, compiled with BAILIFF_TESTING (fault points, helpers looked up beside the program named by the test). No code under
# BAILIFF_TESTING is in the programs that are installed; tests/lint shows it.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Protobuf REQUIRED)

add_library(bailiff_options INTERFACE)
target_include_directories(bailiff_options INTERFACE "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/generated")
target_compile_definitions(bailiff_options INTERFACE "BAILIFF_VERSION=\"${PROJECT_VERSION}\"")
target_compile_options(bailiff_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wswitch -Wnon-virtual-dtor -Wimplicit-fallthrough -Wundef -Werror
  -fstack-protector-strong -fstack-clash-protection -fno-strict-overflow
  "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
target_link_options(bailiff_options INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed)
if(BAILIFF_SANITIZE)
  # fuzzer-no-link: the counters libFuzzer steers by, in every room, so that fuzz targets link the same libraries as the tests.
  target_compile_options(bailiff_options INTERFACE -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
    -fno-omit-frame-pointer -O1 -g)
  target_link_options(bailiff_options INTERFACE -fsanitize=address,undefined)
  target_compile_definitions(bailiff_options INTERFACE BAILIFF_SANITIZE=1)
else()
  target_compile_options(bailiff_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()

# Generated code is compiled without warnings: it is not ours to mend. (-w holds wherever it stands; -Wno-… before -W… does not.)
function(bailiff_generated target)
  target_compile_options(${target} PRIVATE -w)
endfunction()

function(_bailiff_common target testing)
  cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  target_link_libraries(${target} PUBLIC bailiff_options)
  foreach(room IN LISTS ARG_ROOMS)
    if(testing)
      target_link_libraries(${target} PUBLIC ${room}_testing)
    else()
      target_link_libraries(${target} PUBLIC ${room})
    endif()
  endforeach()
  target_link_libraries(${target} PUBLIC ${ARG_LIBRARIES})
  if(testing)
    target_compile_definitions(${target} PRIVATE BAILIFF_TESTING=1)
  endif()
endfunction()

# Only the sources that can differ (they name BAILIFF_FAULT or BAILIFF_TESTING) are compiled twice; both twins share the others.
function(bailiff_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  set(shared)
  set(twice)
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(path "${source}" ABSOLUTE)
    set(differs TRUE)
    if(EXISTS "${path}")
      file(STRINGS "${path}" differs REGEX "BAILIFF_FAULT|BAILIFF_TESTING" LIMIT_COUNT 1)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    endif()
    if(differs)
      list(APPEND twice "${source}")
    else()
      list(APPEND shared "${source}")
    endif()
  endforeach()
  if(shared)
    add_library(${name}_shared OBJECT ${shared})
    _bailiff_common(${name}_shared FALSE ${ARGN})
    set(shared "$<TARGET_OBJECTS:${name}_shared>")
  endif()
  add_library(${name} STATIC ${twice} ${shared})
  _bailiff_common(${name} FALSE ${ARGN})
  if(BAILIFF_TESTS)
    add_library(${name}_testing STATIC ${twice} ${shared})
    _bailiff_common(${name}_testing TRUE ${ARGN})
  endif()
endfunction()

# A program is static-PIE unless DYNAMIC is said or the build is sanitized (the sanitizers' runtimes are dynamic).
function(bailiff_program name)
  cmake_parse_arguments(ARG "DYNAMIC" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  set(variants FALSE)
  if(BAILIFF_TESTS)
    list(APPEND variants TRUE)
  endif()
  foreach(testing IN LISTS variants)
    set(target ${name})
    if(testing)
      set(target ${name}_testing)
    endif()
    add_executable(${target} ${ARG_SOURCES})
    _bailiff_common(${target} ${testing} SOURCES ${ARG_SOURCES} ROOMS ${ARG_ROOMS} LIBRARIES ${ARG_LIBRARIES})
    if(testing)
      set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
        RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/testing/bin")
    endif()
    if(ARG_DYNAMIC OR BAILIFF_SANITIZE)
      target_link_options(${target} PRIVATE -pie)
    else()
      # Some 8,000 relative relocations are packed (50 microseconds of every start), and what no path reaches is left out.
      target_link_options(${target} PRIVATE -static-pie -Wl,-z,pack-relative-relocs -Wl,--gc-sections)
    endif()
  endforeach()

  # `bailiff` is the command; its helpers go where it was compiled to look for them, and nowhere else.
  if(name STREQUAL "bailiff")
    install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  elseif(name MATCHES "^bailiff-")
    install(TARGETS ${name} RUNTIME DESTINATION "${BAILIFF_LIBEXEC}")
  endif()
endfunction()

include(GNUInstallDirs)
if(BAILIFF_LIBEXEC STREQUAL "${CMAKE_BINARY_DIR}/bin")
  install(CODE "message(FATAL_ERROR
    \"this build looks for its helpers in the build tree; configure with -DBAILIFF_LIBEXEC=/usr/libexec/bailiff to install\")")
endif()
