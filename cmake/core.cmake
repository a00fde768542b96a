# libkubelua: every layer of core/, compiled once as objects; the shared and the
# static library are made of them.
configure_file(core/include/kubelua/version.h.in
               ${PROJECT_BINARY_DIR}/include/kubelua/version.h @ONLY)
configure_file(core/libkubelua.map.in
               ${PROJECT_BINARY_DIR}/libkubelua.map @ONLY)

file(GLOB KUBELUA_CORE_SOURCES CONFIGURE_DEPENDS core/*/*.c)
file(GLOB KUBELUA_PUBLIC_HEADERS CONFIGURE_DEPENDS core/include/kubelua/*.h)

# What runs once in a while, or waits for the network anyway, is made small: the
# library is to stay below 0.46 MB.
file(GLOB KUBELUA_RARE_SOURCES CONFIGURE_DEPENDS core/config/*.c
     core/api/catalogue*.c core/api/discovery*.c core/http/curl_failure.c
     core/http/curl_library.c core/http/tls.c core/http/url.c
     core/shared/change*.c core/shared/file.c core/shared/owner*.c
     core/shared/routes*.c core/shared/weights.c core/shared/address.c
     core/shared/budget.c core/shared/keeping.c
     core/base/remedy.c core/base/watchdog.c core/api/builtin_names.c
     core/api/client.c core/api/list_watch.c core/api/list_watch_request.c
     core/http/curl_setup.c core/informer/informer.c
     core/informer/informer_factory.c core/informer/reflector.c
     core/informer/reflector_list.c
     core/informer/reflector_probe.c core/informer/reflector_resume.c
     core/informer/reflector_stream.c
     core/informer/registration.c core/informer/shared_informer.c
     core/informer/status.c core/cache/index_build.c core/cache/lists.c
     core/informer/health.c core/json/path_form.c core/shared/writer.c
     core/http/head.c core/http/inflate.c core/api/call.c core/api/reply.c
     core/api/request*.c core/api/warnings.c core/http/curl_loop.c
     core/http/curl_stream.c core/http/curl_target.c core/http/curl_transport.c
     core/queue/workqueue.c core/shared/map.c core/shared/entries.c
     core/informer/processor.c core/informer/sync_wakers.c
     core/cache/delta_fifo.c core/queue/delays.c core/queue/timing.c
     core/informer/reflector_watch.c core/object/identity.c
     core/object/packer_train.c core/object/unreadable.c core/json/remains.c
     core/informer/unread.c core/informer/unread_list.c
     core/object/selector_parse.c
     core/object/status.c
     core/api/user_agent.c core/base/base64.c core/base/caret.c
     core/base/clock.c core/base/str.c core/base/thread.c
     core/base/error.c core/base/log.c core/base/namespace.c
     core/base/sha256.c core/cache/diff.c core/json/cursor_decode.c
     core/json/hash.c core/object/prune.c core/object/resource.c
     core/base/backoff.c core/base/cancel.c core/base/escape.c core/base/random.c
     core/base/wakeup.c core/cache/sync_tracker.c core/informer/backoff.c
     core/informer/field_selector.c core/object/selector.c
     core/shared/layout.c
     core/api/requester.c core/cache/transaction_plan.c
     core/informer/distribution.c core/informer/notes.c
     core/json/write.c core/object/prune_text.c)
set_source_files_properties(${KUBELUA_RARE_SOURCES} PROPERTIES COMPILE_OPTIONS
    "$<$<CONFIG:Release,RelWithDebInfo>:-Os>")

set(KUBELUA_CORE_LIBRARIES PkgConfig::YYJSON PkgConfig::YAML PkgConfig::ZLIB
    PkgConfig::ZSTD PkgConfig::CURL Threads::Threads m)

add_library(kubelua_objects OBJECT ${KUBELUA_CORE_SOURCES})
target_include_directories(kubelua_objects PUBLIC
    ${PROJECT_SOURCE_DIR}/core ${PROJECT_SOURCE_DIR}/core/include
    ${PROJECT_BINARY_DIR}/include)
target_link_libraries(kubelua_objects PUBLIC ${KUBELUA_CORE_LIBRARIES})
target_compile_options(kubelua_objects PRIVATE
    "$<$<CONFIG:Release,RelWithDebInfo>:-O2>")

# Packed relative relocations (DT_RELR) take 12 KB less. A program shows that the
# linker makes them and that the C library, glibc from 2.36 on, reads them.
if(NOT CMAKE_CROSSCOMPILING)
    include(CheckCSourceRuns)
    separate_arguments(linking UNIX_COMMAND "${CMAKE_SHARED_LINKER_FLAGS}")
    set(CMAKE_REQUIRED_FLAGS -fPIE)
    set(CMAKE_REQUIRED_LINK_OPTIONS ${linking} -pie
        -Wl,-z,pack-relative-relocs)
    check_c_source_runs("static int number = 7;
        static int *volatile all[] = {&number, &number, &number};
        int main(void) { return *all[2] - 7; }" KUBELUA_RELR_WORKS)
    unset(CMAKE_REQUIRED_FLAGS)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
endif()
if(KUBELUA_RELR_WORKS)
    set(KUBELUA_RELR -Wl,-z,pack-relative-relocs)
endif()

# Makes the shared library `target` and the static one `target`_static of the
# objects of `target`_objects. The folder of `target` is the one place where
# the dynamic linker looks for what the library stands on ($ORIGIN): so both
# libraries move together, in a build folder, a prefix or a rock.
# Until 1.0 each minor version may add fields to the structs of the headers, so
# that its libraries have a SONAME of their own (libkubelua.so.0.1): a program
# that was built with another minor version does not start, instead of reading
# or writing beyond a struct.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(KUBELUA_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
else()
    set(KUBELUA_SOVERSION ${PROJECT_VERSION_MAJOR})
endif()

function(kubelua_library target name)
    add_library(${target} SHARED $<TARGET_OBJECTS:${target}_objects>)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
        VERSION ${PROJECT_VERSION} SOVERSION ${KUBELUA_SOVERSION}
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN"
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    # Its threads outlive a dlclose: it must never be unmapped.
    target_link_options(${target} PRIVATE -Wl,-z,nodelete
        -Wl,-Bsymbolic-functions ${KUBELUA_RELR})
    add_library(${target}_static STATIC $<TARGET_OBJECTS:${target}_objects>)
    set_target_properties(${target}_static PROPERTIES OUTPUT_NAME ${name}
        ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    foreach(library ${target} ${target}_static)
        target_include_directories(${library} PUBLIC
            $<BUILD_INTERFACE:${ARGN}>
            $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    endforeach()
endfunction()

kubelua_library(kubelua kubelua ${PROJECT_SOURCE_DIR}/core/include)
target_link_libraries(kubelua PRIVATE ${KUBELUA_CORE_LIBRARIES})
target_link_libraries(kubelua_static PUBLIC ${KUBELUA_CORE_LIBRARIES})
target_link_options(kubelua PRIVATE
    -Wl,--version-script=${PROJECT_BINARY_DIR}/libkubelua.map)
set_property(TARGET kubelua APPEND PROPERTY
    LINK_DEPENDS ${PROJECT_BINARY_DIR}/libkubelua.map)
