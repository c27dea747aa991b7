# SPDX-License-Identifier: Apache-2.0
# How tests are made. Every ctest test carries one label, the lane of packaging/test that runs it: unit, live, lint, fuzz or bench.
#
#   bailiff_unit_test(NAME [TESTING] SOURCES … ROOMS … LIBRARIES …)
#       One GoogleTest program; every TEST in it becomes a ctest test `NAME.Suite.case`. ROOMS are the normal libraries, or with
#       TESTING their twins with fault points; the sources are then compiled with BAILIFF_TESTING too.
#   bailiff_fuzz(NAME SOURCES … ROOMS … CORPUS dir DECODERS file…)
#       SOURCES define LLVMFuzzerTestOneInput. sanitize preset: a libFuzzer program NAME, a replay of the corpus, and a test that
#       the corpus covers at least 90 % of the lines of each of DECODERS (paths from the top of the tree). release preset: a replay.
#   bailiff_live_test(NAME COMMAND … [TIMEOUT seconds] [LABEL lane])
#       A test that drives the built programs on this host. It never runs beside another one.

find_package(GTest REQUIRED)
include(GoogleTest)

function(bailiff_unit_test name)
  cmake_parse_arguments(ARG "TESTING" "TIMEOUT" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  _bailiff_common(${name} "${ARG_TESTING}" SOURCES ${ARG_SOURCES} ROOMS ${ARG_ROOMS}
    LIBRARIES ${ARG_LIBRARIES} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    "BAILIFF_TEST_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\"" "BAILIFF_TEST_BINARY_DIR=\"${CMAKE_BINARY_DIR}\"")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS unit TIMEOUT ${ARG_TIMEOUT})
endfunction()

function(bailiff_live_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;LABEL" "COMMAND" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL live)
  endif()
  add_test(NAME live.${name} COMMAND ${ARG_COMMAND})
  set_tests_properties(live.${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL TRUE
    ENVIRONMENT "BAILIFF_BUILD=${CMAKE_BINARY_DIR};BAILIFF_TREE=${CMAKE_SOURCE_DIR}")
endfunction()

function(bailiff_fuzz name)
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;ROOMS;LIBRARIES;DECODERS" ${ARGN})
  get_filename_component(corpus "${ARG_CORPUS}" ABSOLUTE)
  set(out "${CMAKE_BINARY_DIR}/fuzz")
  if(NOT BAILIFF_SANITIZE)
    add_executable(${name}_replay ${ARG_SOURCES} "${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cc")
    _bailiff_common(${name}_replay FALSE ROOMS ${ARG_ROOMS} LIBRARIES ${ARG_LIBRARIES})
    set_target_properties(${name}_replay PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${out}")
    add_test(NAME fuzz.${name}.replay COMMAND ${name}_replay "${corpus}")
    set_tests_properties(fuzz.${name}.replay PROPERTIES LABELS unit TIMEOUT 120)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  _bailiff_common(${name} FALSE ROOMS ${ARG_ROOMS} LIBRARIES ${ARG_LIBRARIES})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${out}")
  add_test(NAME fuzz.${name}.replay COMMAND ${name} -runs=0 "${corpus}")
  set_tests_properties(fuzz.${name}.replay PROPERTIES LABELS unit TIMEOUT 120)
  set_property(GLOBAL APPEND_STRING PROPERTY BAILIFF_FUZZ_LIST "${name} ${corpus}\n")

  # The decoders are compiled once more, into this program alone, with coverage; the archive members they shadow are not linked.
  set(decoders)
  foreach(file IN LISTS ARG_DECODERS)
    list(APPEND decoders "${CMAKE_SOURCE_DIR}/${file}")
  endforeach()
  add_executable(${name}_coverage ${ARG_SOURCES} "${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cc" ${decoders})
  _bailiff_common(${name}_coverage FALSE ROOMS ${ARG_ROOMS} LIBRARIES ${ARG_LIBRARIES})
  target_compile_options(${name}_coverage PRIVATE -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(${name}_coverage PRIVATE -fprofile-instr-generate)
  set_target_properties(${name}_coverage PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${out}")
  add_test(NAME fuzz.${name}.coverage COMMAND "${CMAKE_SOURCE_DIR}/tests/fuzz/coverage" --at-least 90
    --program $<TARGET_FILE:${name}_coverage> --corpus "${corpus}" --tree "${CMAKE_SOURCE_DIR}" -- ${ARG_DECODERS})
  set_tests_properties(fuzz.${name}.coverage PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()
