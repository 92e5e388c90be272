# The part of gRPC that fleetperf links, as deploy/windows/libraries builds it.
# gRPC's own configuration cannot be installed without libraries that nothing here
# uses (grpc_unsecure compiles nearly all of gRPC a second time).
include(CMakeFindDependencyMacro)
find_dependency(absl CONFIG)
find_dependency(re2 CONFIG)
find_dependency(OpenSSL)
find_dependency(ZLIB)
find_dependency(Protobuf)

get_filename_component(prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
foreach(name address_sorting gpr upb grpc grpc++)
  add_library(gRPC::${name} STATIC IMPORTED)
  set_target_properties(gRPC::${name} PROPERTIES
    IMPORTED_LOCATION ${prefix}/lib/lib${name}.a
    INTERFACE_INCLUDE_DIRECTORIES ${prefix}/include)
endforeach()
set_property(TARGET gRPC::gpr PROPERTY INTERFACE_LINK_LIBRARIES
  absl::base absl::core_headers absl::cord absl::flat_hash_map absl::memory absl::optional
  absl::random_random absl::status absl::statusor absl::str_format absl::strings
  absl::synchronization absl::time absl::variant)
set_property(TARGET gRPC::grpc PROPERTY INTERFACE_LINK_LIBRARIES
  gRPC::address_sorting gRPC::upb gRPC::gpr re2::re2 OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB
  absl::any_invocable absl::bind_front absl::cleanup absl::flat_hash_set absl::function_ref
  absl::hash absl::inlined_vector absl::type_traits absl::utility)
set_property(TARGET gRPC::grpc++ PROPERTY INTERFACE_LINK_LIBRARIES gRPC::grpc protobuf::libprotobuf)

find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
add_executable(gRPC::grpc_cpp_plugin IMPORTED)
set_property(TARGET gRPC::grpc_cpp_plugin PROPERTY IMPORTED_LOCATION ${GRPC_CPP_PLUGIN})
