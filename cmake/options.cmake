# What a builder can choose, and the flags that everything is built with.
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

set(KUBELUA_SIM ON CACHE STRING
    "Build the simulated API server: ON, OFF, or AUTO (where its libraries are)")
set(KUBELUA_TESTS AUTO CACHE STRING
    "Build the C tests: ON, OFF, or AUTO: where cmocka is installed")
set_property(CACHE KUBELUA_TESTS PROPERTY STRINGS AUTO ON OFF)
option(KUBELUA_WERROR "A warning of the compiler is an error: for CI" OFF)
option(KUBELUA_LUA "Build the Lua modules" ON)
option(KUBELUA_EXAMPLES "Build the C examples" ON)
option(KUBELUA_FUZZ "Build the fuzz targets: clang, for spec/fuzz/run" OFF)
option(KUBELUA_ASSERTS "Keep assertions and lock ranks in every build" OFF)
set(KUBELUA_SANITIZE "" CACHE STRING
    "Sanitizers to build with: address,undefined or thread")

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes
                    -Wmissing-prototypes)
if(KUBELUA_WERROR)
    add_compile_options(-Werror)
endif()
# One level for everything: the figures of bench/ are those of -O2. CMake's own
# level of a Release build is -O3.
string(REPLACE "-O3" "-O2" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
if(KUBELUA_ASSERTS)
    foreach(config RELEASE RELWITHDEBINFO MINSIZEREL)
        string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${config}
                       "${CMAKE_C_FLAGS_${config}}")
    endforeach()
endif()
if(KUBELUA_SANITIZE)
    add_compile_options(-fsanitize=${KUBELUA_SANITIZE}
                        -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
    add_link_options(-fsanitize=${KUBELUA_SANITIZE})
endif()
