# Builds the page with npm, and puts it into the source file FLEETPERF_PAGE_SOURCE. npm runs in a copy of web/, and only
# when a file there has changed. Without npm, or if it fails, the aggregator has no page, and says so.
set(FLEETPERF_PAGE_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/page.cc)
set(page_sources)
set(page_build ${CMAKE_CURRENT_BINARY_DIR}/page)
find_program(NPM npm)
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/web/package-lock.json)
  message(STATUS "The aggregator gets no page: web/package-lock.json is missing")
elseif(NOT NPM)
  message(STATUS "The aggregator gets no page: npm is missing (apt-get install npm)")
else()
  # Not all below web/, because node_modules may be there.
  file(GLOB page_sources CONFIGURE_DEPENDS LIST_DIRECTORIES false ${CMAKE_SOURCE_DIR}/web/*)
  file(GLOB_RECURSE below CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/public/* ${CMAKE_SOURCE_DIR}/web/src/*)
  list(APPEND page_sources ${below})
endif()

add_executable(embed_assets embed_assets.cc)
target_link_libraries(embed_assets PRIVATE OpenSSL::Crypto ZLIB::ZLIB)
set_target_properties(embed_assets PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
  DISABLE_PRECOMPILE_HEADERS ON)

if(page_sources)
  add_custom_command(
    OUTPUT page.stamp
    COMMAND ${CMAKE_COMMAND} -D NPM=${NPM} -D SOURCE=${CMAKE_SOURCE_DIR}/web -D BUILD=${page_build}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/build_page.cmake
    COMMAND ${CMAKE_COMMAND} -E touch page.stamp
    DEPENDS ${page_sources} build_page.cmake
    COMMENT "Building the page with npm"
    VERBATIM)
  set(page_stamp page.stamp)
endif()
add_custom_command(
  OUTPUT ${FLEETPERF_PAGE_SOURCE} ${FLEETPERF_PAGE_SOURCE}.bin
  COMMAND embed_assets ${page_build}/dist ${FLEETPERF_PAGE_SOURCE}
  DEPENDS embed_assets ${page_stamp}
  COMMENT "Embedding the page"
  VERBATIM)
# The assembler's input is no dependency that the compiler reports.
set_source_files_properties(${FLEETPERF_PAGE_SOURCE} PROPERTIES
  OBJECT_DEPENDS ${FLEETPERF_PAGE_SOURCE}.bin
  SKIP_UNITY_BUILD_INCLUSION ON)
