# Like toolchain.cmake, but with clang, to check fleetperf's code with a second compiler. Uses
# mingw-w64's headers and the libraries that GCC built. Links nothing.
include(${CMAKE_CURRENT_LIST_DIR}/toolchain.cmake)
set(CMAKE_C_COMPILER clang)
set(CMAKE_CXX_COMPILER clang++)
set(CMAKE_C_COMPILER_TARGET x86_64-w64-mingw32)
set(CMAKE_CXX_COMPILER_TARGET x86_64-w64-mingw32)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# clang does not search Debian's directory of GCC headers.
file(GLOB libstdcxx /usr/lib/gcc/x86_64-w64-mingw32/*-posix/include/c++)
string(APPEND CMAKE_CXX_FLAGS_INIT " -stdlib++-isystem ${libstdcxx} -isystem ${libstdcxx}/x86_64-w64-mingw32")
# clang does not link GCC's C++ libraries: skip the commands that link executables.
set(CMAKE_CXX_LINKER_LAUNCHER true)
