# Builds the page in a copy of web/:  cmake -D NPM=... -D SOURCE=web -D BUILD=directory -P build_page.cmake
# Leaves BUILD/dist empty if that fails.
file(REMOVE_RECURSE ${BUILD}/dist)
file(GLOB old LIST_DIRECTORIES true ${BUILD}/*)
list(FILTER old EXCLUDE REGEX "/node_modules$")
if(old)
  file(REMOVE_RECURSE ${old})
endif()
file(COPY ${SOURCE}/ DESTINATION ${BUILD}
  REGEX "/(node_modules|dist)$" EXCLUDE)

function(give_up reason)
  file(REMOVE_RECURSE ${BUILD}/dist)
  message(WARNING "The aggregator gets no page: ${reason}. To try again, build after: touch web/package.json")
endfunction()

file(SHA256 ${BUILD}/package-lock.json lock)
set(installed "")
if(EXISTS ${BUILD}/node_modules/installed)
  file(READ ${BUILD}/node_modules/installed installed)
endif()
if(NOT installed STREQUAL lock)
  # Scripts of packages are not run: none is needed, and they may load more from elsewhere.
  execute_process(
    COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --fetch-retries 1
    WORKING_DIRECTORY ${BUILD}
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    give_up("npm ci failed, perhaps for lack of a network")
    return()
  endif()
  file(WRITE ${BUILD}/node_modules/installed "${lock}")
endif()
execute_process(
  COMMAND ${NPM} run build
  WORKING_DIRECTORY ${BUILD}
  RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  give_up("npm run build failed")
endif()
