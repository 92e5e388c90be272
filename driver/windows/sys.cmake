# Builds fleetperf_pmu.sys with clang, because GCC has no structured exception handling. docs/driver.md describes the
# build with Microsoft's WDK.
find_program(CLANGXX clang++ REQUIRED)
file(GLOB libstdcxx /usr/lib/gcc/x86_64-w64-mingw32/*-posix/include/c++)
set(mingw_headers /usr/x86_64-w64-mingw32/include)

set(FLEETPERF_SYS_COMPILE ${CLANGXX} --target=x86_64-w64-mingw32 -std=c++20 -O2
  # What a kernel lacks: a runtime library, a red zone, the floating-point registers.
  -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-stack-protector -mno-red-zone
  -mgeneral-regs-only -fms-extensions
  -fasynchronous-unwind-tables  # the kernel unwinds all functions
  -Wall -Wextra -Wshadow -Werror
  -D_WIN32_WINNT=0x0A00
  # mingw-w64's wdm.h defines these functions, too.
  -D__INTRINSIC_DEFINED_InterlockedBitTestAndSet -D__INTRINSIC_DEFINED_InterlockedBitTestAndReset
  -I${CMAKE_SOURCE_DIR} -stdlib++-isystem ${libstdcxx} -isystem ${libstdcxx}/x86_64-w64-mingw32
  -isystem ${mingw_headers}/ddk -isystem ${mingw_headers})
set(FLEETPERF_SYS_LINK ${CMAKE_CXX_COMPILER} -nostdlib -nostartfiles -s
  -Wl,--subsystem,native:10.0,--major-os-version,10,--entry,DriverEntry,--image-base,0x140000000
  -Wl,--dynamicbase,--nxcompat,--high-entropy-va,--exclude-all-symbols,--fatal-warnings)

# fleetperf_sys(NAME fleetperf_pmu DIRECTORY output DEFINITIONS ... SOURCES ...)
function(fleetperf_sys)
  cmake_parse_arguments(SYS "" "NAME;DIRECTORY" "DEFINITIONS;SOURCES" ${ARGN})
  set(objects)
  foreach(source ${SYS_SOURCES})
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
    string(REPLACE "/" "_" object ${name})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${SYS_NAME}.sys.dir/${object}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${FLEETPERF_SYS_COMPILE} ${SYS_DEFINITIONS} -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source}
      DEPFILE ${object}.d
      COMMENT "Compiling ${name} for ${SYS_NAME}.sys"
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${SYS_NAME}.sys.dir)
  configure_file(sys/version.rc.in ${SYS_NAME}.rc @ONLY)
  set(resource ${CMAKE_CURRENT_BINARY_DIR}/${SYS_NAME}.res.o)
  add_custom_command(
    OUTPUT ${resource}
    COMMAND ${CMAKE_RC_COMPILER} ${CMAKE_CURRENT_BINARY_DIR}/${SYS_NAME}.rc ${resource}
    DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${SYS_NAME}.rc
    VERBATIM)
  set(image ${SYS_DIRECTORY}/${SYS_NAME}.sys)
  add_custom_command(
    OUTPUT ${image}
    COMMAND ${FLEETPERF_SYS_LINK} ${objects} ${resource} -o ${image} -lntoskrnl
    DEPENDS ${objects} ${resource}
    COMMENT "Linking ${SYS_NAME}.sys"
    VERBATIM)
  add_custom_target(${SYS_NAME}.sys ALL DEPENDS ${image})
endfunction()

set(pmu ${CMAKE_SOURCE_DIR}/driver/pmu)
set(access access/access_list.cc)
set(sources
  sys/device.cc
  sys/driver.cc
  sys/notifications.cc
  sys/processors.cc
  sys/server.cc)
get_target_property(core pmu SOURCES)
list(TRANSFORM core PREPEND ${pmu}/)
get_target_property(simulation pmu_simulation SOURCES)
list(TRANSFORM simulation PREPEND ${pmu}/)

fleetperf_sys(NAME fleetperf_pmu DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
  SOURCES ${access} ${sources} ${core} sys/guarded.cc sys/windows_machine.cc)
# For tests only: images of other names, so that none is installed by mistake.
if(BUILD_TESTING)
  set(simulated ${sources} ${core} ${simulation} sys/simulated_machine.cc)
  fleetperf_sys(NAME fleetperf_pmu_simulated DIRECTORY ${CMAKE_BINARY_DIR}/tests
    DEFINITIONS -DFLEETPERF_PMU_SIMULATED
    SOURCES ${access} ${simulated})
  fleetperf_sys(NAME fleetperf_pmu_open DIRECTORY ${CMAKE_BINARY_DIR}/tests
    DEFINITIONS -DFLEETPERF_PMU_SIMULATED
    SOURCES ${CMAKE_SOURCE_DIR}/tests/driver/windows/open_access_list.cc ${simulated})
endif()
