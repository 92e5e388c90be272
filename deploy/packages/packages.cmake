# The Debian packages. Each is one component of the installation; deploy/packages/build makes them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fleetperf)
set(CPACK_PACKAGE_VENDOR fleetperf)
set(CPACK_PACKAGE_CONTACT "fleetperf maintainers <maintainers@fleetperf.invalid>" CACHE STRING
  "Name and address of the packages' maintainer")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL "")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

configure_file(${CMAKE_CURRENT_LIST_DIR}/changelog.in changelog @ONLY)
execute_process(COMMAND gzip -9n INPUT_FILE ${CMAKE_CURRENT_BINARY_DIR}/changelog
  OUTPUT_FILE ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz COMMAND_ERROR_IS_FATAL ANY)

# The component `component` becomes the package `name`. CPack reads the variables below in upper case.
macro(fleetperf_package component name section description)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${key}_DESCRIPTION ${description})
  install(FILES ${CMAKE_SOURCE_DIR}/deploy/packages/copyright ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz
    DESTINATION share/doc/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
endmacro()

# Manual pages and completions of the executable, from its --help. `purpose` is what apropos(1) shows.
function(fleetperf_command_pages target component purpose)
  set(pages ${CMAKE_CURRENT_BINARY_DIR}/packages/${target})
  install(CODE "
    file(REMOVE_RECURSE ${pages})
    execute_process(COMMAND ${CMAKE_SOURCE_DIR}/deploy/packages/command_pages $<TARGET_FILE:${target}> \"${purpose}\" ${pages}
      COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(DIRECTORY ${pages}/ DESTINATION share COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

# A package with the executable of a daemon, its unit, its configuration file and its user.
macro(fleetperf_daemon_package component description)
  set(DAEMON fleetperf-${component})
  fleetperf_package(${component} ${DAEMON} admin ${description})
  set(sources ${CMAKE_SOURCE_DIR}/deploy/packages)
  set(scripts ${CMAKE_CURRENT_BINARY_DIR}/packages/${component})
  foreach(script postinst prerm postrm)
    configure_file(${sources}/${script}.in ${scripts}/${script} @ONLY
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endforeach()
  file(WRITE ${scripts}/conffiles "/etc/fleetperf/${component}.yaml\n")
  set(CPACK_DEBIAN_${key}_PACKAGE_CONTROL_EXTRA
    ${scripts}/postinst ${scripts}/prerm ${scripts}/postrm ${scripts}/conffiles)
  set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS adduser)
  install(TARGETS ${DAEMON} RUNTIME DESTINATION bin COMPONENT ${component} EXCLUDE_FROM_ALL)
  string(REGEX MATCH "^[^\n]*" purpose ${description})
  fleetperf_command_pages(${DAEMON} ${component} ${purpose})
  install(FILES ${sources}/${component}.yaml DESTINATION /etc/fleetperf COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${sources}/${DAEMON}.service DESTINATION lib/systemd/system COMPONENT ${component} EXCLUDE_FROM_ALL)
endmacro()

fleetperf_daemon_package(agent
"collects performance counters of a machine
The agent samples the performance counters of this machine every second and
streams them to an aggregator over mutual TLS. It keeps samples on its disk
while no aggregator can be reached.")
fleetperf_daemon_package(aggregator
"stores performance counters of a fleet of machines
The aggregator receives the performance counters that agents on Linux and
Windows collect, stores them, and answers queries and subscriptions.")
# The authorities of engines, for the export.
set(CPACK_DEBIAN_AGGREGATOR_PACKAGE_RECOMMENDS ca-certificates)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/deploy/export ${CMAKE_SOURCE_DIR}/deploy/grafana ${CMAKE_SOURCE_DIR}/deploy/prometheus
  DESTINATION share/doc/fleetperf-aggregator/examples COMPONENT aggregator EXCLUDE_FROM_ALL)

fleetperf_package(cli fleetperf admin
"command line for performance counters of a fleet
Lists, queries, watches and charts the performance counters that an aggregator
has stored, makes certificates, and decodes captures. The program fleetperf-pmc
counts hardware events of this machine and needs no aggregator.")
install(TARGETS fleetperf fleetperf-pmc RUNTIME DESTINATION bin COMPONENT cli EXCLUDE_FROM_ALL)
# Asks the aggregator for what completes a word.
install(PROGRAMS ${CMAKE_SOURCE_DIR}/deploy/packages/complete DESTINATION libexec/fleetperf
  COMPONENT cli EXCLUDE_FROM_ALL)

fleetperf_command_pages(fleetperf cli "command line for performance counters of a fleet")
fleetperf_command_pages(fleetperf-pmc cli "counts hardware events of this machine")

# driver/perf_event/package.cmake installs the component.
fleetperf_package(perf_event libfleetperf-dev libdevel
"C++ library for perf_event of Linux
Counts and samples hardware, software, cache, raw, breakpoint, tracepoint and
probe events through perf_event_open(2). The CMake package fleetperf has the
static library, and a simulated machine for tests.")
set(CPACK_DEBIAN_PERF_EVENT_PACKAGE_DEPENDS libabsl-dev)

# The files from which programs in other languages generate their clients.
fleetperf_package(proto libfleetperf-proto-dev libdevel
"interface definitions of fleetperf for programs
The .proto files of the gRPC services with which programs list, query and watch
the performance counters of a fleet, in any language that gRPC supports.")
set(CPACK_DEBIAN_PROTO_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PROTO_PACKAGE_DEPENDS libprotobuf-dev)  # has the files of google/protobuf
foreach(name administration configuration fleet plan query subscription values)
  install(FILES ${CMAKE_SOURCE_DIR}/proto/fleetperf/v1/${name}.proto DESTINATION include/fleetperf/v1
    COMPONENT proto EXCLUDE_FROM_ALL)
endforeach()

include(CPack)
