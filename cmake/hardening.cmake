# Hardening of everything that is built with optimisation: what an attacker
# needs after a memory error is taken away. spec/install/hardening.sh checks the
# installed files. A sanitizer brings its own checks.
option(KUBELUA_HARDENING "Harden the optimised builds" ON)
if(NOT KUBELUA_HARDENING OR KUBELUA_SANITIZE)
    return()
endif()
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)

set(KUBELUA_OPTIMISED "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")

# Stack protector; stack clashes; indirect jumps only to marked places (CET on
# x86, BTI and PAC on ARM). clang takes the flag of the other machine, and warns.
set(CMAKE_REQUIRED_FLAGS -Werror)
foreach(flag -fstack-protector-strong -fstack-clash-protection
        -fcf-protection=full -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "KUBELUA_HAS${flag}" has)
    check_c_compiler_flag(${flag} ${has})
    if(${has})
        add_compile_options("$<${KUBELUA_OPTIMISED}:${flag}>")
    endif()
endforeach()
unset(CMAKE_REQUIRED_FLAGS)

# Level 3 also checks sizes that are known only when the program runs.
set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -Werror")
check_c_source_compiles("#include <string.h>
    #if __USE_FORTIFY_LEVEL != 3
    #error no level 3
    #endif
    int main(void) { return 0; }" KUBELUA_FORTIFY_3)
unset(CMAKE_REQUIRED_FLAGS)
set(level 2)
if(KUBELUA_FORTIFY_3)
    set(level 3)
endif()
add_compile_options("$<${KUBELUA_OPTIMISED}:-U_FORTIFY_SOURCE>"
                    "$<${KUBELUA_OPTIMISED}:-D_FORTIFY_SOURCE=${level}>")

# Addresses are resolved at the start, and then read-only; code and constants
# are in pages of their own; no stack is executable.
add_link_options("$<${KUBELUA_OPTIMISED}:-Wl,-z,relro,-z,now>"
    "$<${KUBELUA_OPTIMISED}:-Wl,-z,separate-code,-z,noexecstack>")
