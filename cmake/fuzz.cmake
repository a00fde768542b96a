# spec/fuzz: the fuzz targets. Every build of the tests replays their corpora;
# with KUBELUA_FUZZ, which wants clang, each is also a program of libFuzzer:
# fuzz/NAME in the build folder. spec/fuzz/run builds and runs those.
set(fuzz_dir ${PROJECT_SOURCE_DIR}/spec/fuzz)
file(GLOB KUBELUA_FUZZ_SOURCES CONFIGURE_DEPENDS ${fuzz_dir}/targets/*.c)
set(KUBELUA_FUZZ_COMMON ${fuzz_dir}/fuzz.c ${fuzz_dir}/wire.c
    ${PROJECT_SOURCE_DIR}/spec/support/cursor_walk.c)

if(KUBELUA_TESTS AND KUBELUA_SIM)
    add_executable(fuzz_replay_spec ${fuzz_dir}/replay_spec.c
        ${KUBELUA_FUZZ_COMMON} ${KUBELUA_FUZZ_SOURCES}
        $<TARGET_OBJECTS:kubelua_objects> $<TARGET_OBJECTS:kubelua_sim_objects>)
    target_include_directories(fuzz_replay_spec PRIVATE ${fuzz_dir}
        ${PROJECT_SOURCE_DIR}/spec/support)
    target_compile_definitions(fuzz_replay_spec PRIVATE
        KUBELUA_FUZZ_CORPUS="${fuzz_dir}/corpus")
    target_link_libraries(fuzz_replay_spec PRIVATE kubelua_sim_objects
        kubelua_objects
        PkgConfig::CMOCKA)
    set_target_properties(fuzz_replay_spec PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/spec)
    kubelua_c_test(fuzz_replay_spec spec/fuzz/replay_spec.c core)
endif()

if(KUBELUA_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
        message(FATAL_ERROR "KUBELUA_FUZZ wants -DCMAKE_C_COMPILER=clang")
    endif()
    set(instrument -fsanitize=fuzzer-no-link,address,undefined
        -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
    target_compile_options(kubelua_objects PRIVATE ${instrument})
    target_compile_options(kubelua_sim_objects PRIVATE ${instrument})
    add_library(kubelua_fuzz OBJECT ${KUBELUA_FUZZ_COMMON}
        ${fuzz_dir}/mutate.c)
    target_link_libraries(kubelua_fuzz PUBLIC kubelua_sim_objects
        kubelua_objects)
    target_include_directories(kubelua_fuzz PUBLIC ${fuzz_dir}
        ${PROJECT_SOURCE_DIR}/spec/support)
    target_compile_options(kubelua_fuzz PRIVATE
        -fsanitize=address,undefined -fno-sanitize-recover=all -g)
    add_custom_target(fuzz)
    foreach(source ${KUBELUA_FUZZ_SOURCES})
        get_filename_component(name ${source} NAME_WE)
        add_executable(fuzz_${name} ${source} ${fuzz_dir}/entry.c
            $<TARGET_OBJECTS:kubelua_fuzz> $<TARGET_OBJECTS:kubelua_objects>
            $<TARGET_OBJECTS:kubelua_sim_objects>)
        target_link_libraries(fuzz_${name} PRIVATE kubelua_fuzz
            kubelua_sim_objects kubelua_objects)
        target_compile_definitions(fuzz_${name} PRIVATE
            FUZZ_TARGET=fuzz_${name})
        target_compile_options(fuzz_${name} PRIVATE
            -fsanitize=address,undefined -fno-sanitize-recover=all -g)
        target_link_options(fuzz_${name} PRIVATE
            -fsanitize=fuzzer,address,undefined)
        set_target_properties(fuzz_${name} PROPERTIES OUTPUT_NAME ${name}
            RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
        add_dependencies(fuzz fuzz_${name})
    endforeach()
endif()
