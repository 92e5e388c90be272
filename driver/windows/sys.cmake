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
  -Wall -Wextra -Wshadow
  "-Wno-#warnings"  # of mm3dnow.h of clang 19, which MinGW's intrin.h includes
  -D_WIN32_WINNT=0x0A00
  # mingw-w64's wdm.h defines these functions, too.
  -D__INTRINSIC_DEFINED_InterlockedBitTestAndSet -D__INTRINSIC_DEFINED_InterlockedBitTestAndReset
  -I${CMAKE_SOURCE_DIR} -stdlib++-isystem ${libstdcxx} -isystem ${libstdcxx}/x86_64-w64-mingw32
  -isystem ${mingw_headers}/ddk -isystem ${mingw_headers})
if(CMAKE_COMPILE_WARNING_AS_ERROR)
  list(APPEND FLEETPERF_SYS_COMPILE -Werror)
endif()
set(FLEETPERF_SYS_LINK ${CMAKE_CXX_COMPILER} -nostdlib -nostartfiles -s
  -Wl,--subsystem,native:10.0,--major-os-version,10,--entry,DriverEntry,--image-base,0x140000000
  -Wl,--dynamicbase,--nxcompat,--high-entropy-va,--exclude-all-symbols,--fatal-warnings)

# fleetperf_sys_objects(RESULT FOLDER name DEFINITIONS ... SOURCES ...) lists the objects in RESULT.
function(fleetperf_sys_objects result)
  cmake_parse_arguments(SYS "" "FOLDER" "DEFINITIONS;SOURCES" ${ARGN})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/sys.dir/${SYS_FOLDER})
  file(MAKE_DIRECTORY ${folder})
  set(objects)
  foreach(source ${SYS_SOURCES})
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
    string(REPLACE "/" "_" object ${name})
    set(object ${folder}/${object}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${FLEETPERF_SYS_COMPILE} ${SYS_DEFINITIONS} -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source}
      DEPFILE ${object}.d
      COMMENT "Compiling ${name} for Windows' kernel"
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${result} ${objects} PARENT_SCOPE)
endfunction()

# Adds the target NAME.sys, which links objects to DIRECTORY/NAME.sys.
function(fleetperf_sys SYS_NAME directory)
  configure_file(sys/version.rc.in ${SYS_NAME}.rc @ONLY)
  set(resource ${CMAKE_CURRENT_BINARY_DIR}/${SYS_NAME}.res.o)
  add_custom_command(
    OUTPUT ${resource}
    COMMAND ${CMAKE_RC_COMPILER} ${CMAKE_CURRENT_BINARY_DIR}/${SYS_NAME}.rc ${resource}
    DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${SYS_NAME}.rc
    VERBATIM)
  set(image ${directory}/${SYS_NAME}.sys)
  add_custom_command(
    OUTPUT ${image}
    COMMAND ${FLEETPERF_SYS_LINK} ${ARGN} ${resource} -o ${image} -lntoskrnl
    DEPENDS ${ARGN} ${resource}
    COMMENT "Linking ${SYS_NAME}.sys"
    VERBATIM)
  add_custom_target(${SYS_NAME}.sys ALL DEPENDS ${image})
endfunction()

get_target_property(core pmu SOURCES)
list(TRANSFORM core PREPEND ${CMAKE_SOURCE_DIR}/driver/pmu/)
fleetperf_sys_objects(access FOLDER common SOURCES access/access_list.cc)
fleetperf_sys_objects(common FOLDER common
  SOURCES ${core} sys/device.cc sys/notifications.cc sys/processors.cc sys/server.cc)
fleetperf_sys_objects(guarded FOLDER common SOURCES sys/guarded.cc)
fleetperf_sys_objects(real FOLDER real SOURCES sys/driver.cc sys/windows_machine.cc)
fleetperf_sys(fleetperf_pmu ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${access} ${common} ${guarded} ${real})

# For tests only: images of other names, so that none is installed by mistake.
if(BUILD_TESTING)
  set(tests ${CMAKE_SOURCE_DIR}/tests/driver/windows)
  get_target_property(simulation pmu_simulation SOURCES)
  list(TRANSFORM simulation PREPEND ${CMAKE_SOURCE_DIR}/driver/pmu/)
  fleetperf_sys_objects(simulation FOLDER common SOURCES ${simulation})
  fleetperf_sys_objects(simulated FOLDER simulated
    DEFINITIONS -DFLEETPERF_PMU_MACHINE="driver/windows/sys/simulated_machine.h"
    SOURCES sys/driver.cc sys/simulated_machine.cc)
  fleetperf_sys_objects(open FOLDER open SOURCES ${tests}/open_access_list.cc)
  fleetperf_sys_objects(faulting FOLDER faulting
    DEFINITIONS -DFLEETPERF_PMU_MACHINE="tests/driver/windows/faulting_machine.h"
    SOURCES sys/driver.cc)
  set(output ${CMAKE_BINARY_DIR}/tests)
  fleetperf_sys(fleetperf_pmu_simulated ${output} ${access} ${common} ${simulation} ${simulated})
  fleetperf_sys(fleetperf_pmu_open ${output} ${open} ${common} ${simulation} ${simulated})
  fleetperf_sys(fleetperf_pmu_faulting ${output} ${access} ${common} ${guarded} ${simulation} ${faulting})
endif()
