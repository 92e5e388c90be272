# The CMake package fleetperf: docs/reference/perf_event.md shows how to install and use it.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_includes ${CMAKE_INSTALL_INCLUDEDIR}/fleetperf)
set(package_libraries ${CMAKE_INSTALL_LIBDIR}/fleetperf)  # names such as libbase_suggest.a could be others', too
set(package_files ${CMAKE_INSTALL_LIBDIR}/cmake/fleetperf)

foreach(target base_suggest perf_event perf_event_simulation)
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${package_includes}>)
  install(TARGETS ${target} EXPORT fleetperf ARCHIVE DESTINATION ${package_libraries} COMPONENT perf_event)
endforeach()
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} DESTINATION ${package_includes}/driver COMPONENT perf_event
  FILES_MATCHING PATTERN "*.h" PATTERN examples EXCLUDE)
install(FILES ${CMAKE_SOURCE_DIR}/base/status_macros.h DESTINATION ${package_includes}/base COMPONENT perf_event)

install(EXPORT fleetperf FILE fleetperfTargets.cmake NAMESPACE fleetperf:: DESTINATION ${package_files}
  COMPONENT perf_event)
configure_package_config_file(fleetperfConfig.cmake.in fleetperfConfig.cmake INSTALL_DESTINATION ${package_files})
write_basic_package_version_file(fleetperfConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${CMAKE_CURRENT_BINARY_DIR}/fleetperfConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/fleetperfConfigVersion.cmake
  DESTINATION ${package_files} COMPONENT perf_event)
