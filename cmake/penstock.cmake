# The build rules of every module, test and benchmark, in one place.
#
#   penstock_module(io LINKS penstock::runtime PkgConfig::liburing)
#     One static library of every .cc below the folder, with the alias penstock::io.
#   penstock_test(io tests/io LINKS penstock::io)
#     One executable of every *_test.cc below tests/io; RUNS_PROGRAM builds penstock first. CTest labels follow the suite's name:
#     Fault*, Numeric*, Disk* and Structure* have theirs, the rest is "unit".
#   penstock_bench(ops bench/ops LINKS penstock::ops)
#     One executable of every *_bench.cc; CTest runs it once, briefly, so that none rots.
#
# The presets asan and tsan join sources (CMAKE_UNITY_BUILD), which makes them build much faster: names of unnamed
# namespaces must differ within a target. The others do not, so that a missing include fails there. CMake itself leaves out
# the sources with flags of their own, those of an instruction set.

set(PENSTOCK_FLAGS
    # GCC contracts a*b+c by default, which gives other bits where the CPU has FMA.
    -ffp-contract=off -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-unused-parameter)
if(PENSTOCK_WERROR)
  list(APPEND PENSTOCK_FLAGS -Werror)
endif()
if(PENSTOCK_SANITIZE)
  list(APPEND PENSTOCK_FLAGS -fsanitize=${PENSTOCK_SANITIZE} -fno-omit-frame-pointer
       -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PENSTOCK_SANITIZE})
endif()

if(PENSTOCK_FUZZ)
  list(APPEND PENSTOCK_FLAGS -fsanitize=fuzzer-no-link)
endif()

function(penstock_flags target)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE ${PENSTOCK_FLAGS})
endfunction()

function(penstock_module name)
  cmake_parse_arguments(ARG "" "" "LINKS;EXCEPT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(file ${ARG_EXCEPT})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  if(NOT sources)  # A module of headers alone has nothing to archive.
    add_library(penstock_${name} INTERFACE)
    add_library(penstock::${name} ALIAS penstock_${name})
    target_include_directories(penstock_${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(penstock_${name} INTERFACE ${ARG_LINKS})
    return()
  endif()
  add_library(penstock_${name} STATIC ${sources})
  add_library(penstock::${name} ALIAS penstock_${name})
  penstock_flags(penstock_${name})
  target_link_libraries(penstock_${name} PUBLIC ${ARG_LINKS})
endfunction()

function(penstock_test name folder)
  cmake_parse_arguments(ARG "RUNS_PROGRAM" "" "LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  if(NOT sources)
    return()
  endif()
  set(target penstock_${name}_test)
  add_executable(${target} ${sources})
  penstock_flags(${target})
  # The code under test has every check; in the tests' own objects those of undefined behaviour would
  # more than double the time to compile.
  if(PENSTOCK_SANITIZE MATCHES undefined)
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
  target_compile_definitions(${target} PRIVATE PENSTOCK_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             PENSTOCK_BINARY="${PROJECT_BINARY_DIR}/penstock")
  target_link_libraries(${target} PRIVATE ${ARG_LINKS} GTest::gtest GTest::gmock GTest::gtest_main)
  if(ARG_RUNS_PROGRAM AND TARGET penstock)
    add_dependencies(${target} penstock)
  endif()
  foreach(kind unit fault numeric disk structure)
    set(filter "-Fault*:Numeric*:Disk*:Structure*:*/Fault*:*/Numeric*:*/Disk*")
    if(NOT kind STREQUAL unit)
      string(SUBSTRING ${kind} 0 1 first)
      string(SUBSTRING ${kind} 1 -1 rest)
      string(TOUPPER ${first} first)
      set(filter "${first}${rest}*:*/${first}${rest}*")
    endif()
    gtest_discover_tests(${target} TEST_FILTER "${filter}" TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
                         TEST_LIST ${target}_${kind} PROPERTIES LABELS ${kind} TIMEOUT 900)
  endforeach()
endfunction()

function(penstock_bench name folder)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  if(NOT sources)
    return()
  endif()
  set(target penstock_${name}_bench)
  add_executable(${target} ${sources})
  penstock_flags(${target})
  target_compile_definitions(${target} PRIVATE PENSTOCK_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ${ARG_LINKS} benchmark::benchmark)
  if(PENSTOCK_TESTS)
    add_test(NAME bench.${name} COMMAND ${target} --benchmark_min_time=0.001)
    set_tests_properties(bench.${name} PROPERTIES LABELS bench TIMEOUT 120)
  endif()
endfunction()
