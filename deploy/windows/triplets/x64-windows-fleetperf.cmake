# For vcpkg: x64-windows-static, with wide paths of logs (see build_spdlog in ../library).
set(VCPKG_TARGET_ARCHITECTURE x64)
set(VCPKG_CRT_LINKAGE static)
set(VCPKG_LIBRARY_LINKAGE static)
set(SPDLOG_WCHAR_FILENAMES ON)
