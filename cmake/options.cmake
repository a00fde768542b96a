# What a builder can choose, and the flags that everything is built with.
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

option(KUBELUA_TESTS "Build the C tests" ON)
set(KUBELUA_SIM ON CACHE STRING
    "Build the simulated API server: ON, OFF, or AUTO (where its libraries are)")
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
                    -Wmissing-prototypes -Werror)
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
