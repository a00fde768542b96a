#!/bin/sh
# Shows with readelf that a Release build is hardened (cmake/hardening.cmake).
# Usage: sh spec/install/hardening.sh FILE... (libraries and modules); exit
# status 1, with what is missing, if one is not.
set -u
bad=0
begin=$(${CC:-cc} -print-file-name=crti.o)

missing() {
    bad=1
    echo "FAILED: $file: $*"
}

for file in "$@"; do
    segments=$(readelf -lW "$file")
    dynamic=$(readelf -dW "$file")
    notes=$(readelf -nW "$file")
    symbols=$(readelf -W --dyn-syms "$file")
    echo "$dynamic" | grep -qE 'BIND_NOW|FLAGS_1.* NOW' || missing "no BIND_NOW"
    echo "$segments" | grep -q GNU_RELRO || missing "no RELRO"
    echo "$segments" | grep -qE 'GNU_STACK .* RW +0x' ||
        missing "the stack may be executed"
    echo "$segments" | grep -qE 'LOAD .* RWE ' &&
        missing "a segment can be written and executed"
    # The first segment has the headers and the names: no code beside them.
    echo "$segments" | grep -E '^ *LOAD' | head -n 1 | grep -qE ' R +0x' ||
        missing "code and constants share a segment (noseparate-code)"
    echo "$symbols" | grep -q '__stack_chk_fail' ||
        missing "no stack protector"
    case $(basename "$file") in
    libkubelua*.so*)
        echo "$symbols" | grep -qE '__(vsn|sn)printf_chk|__memcpy_chk' ||
            missing "no FORTIFY"
        ;;
    esac
    case $(uname -m) in
    x86_64) marks='IBT, SHSTK' pad=endbr64 ;;
    aarch64) marks='BTI, PAC' pad=paciasp ;;
    *) continue ;;
    esac
    # Every function has its landing pad. The linker marks the file only if the
    # C library's start files have the mark (that of Debian 12 has none).
    [ "$(objdump -d "$file" | grep -c "$pad")" -ge 20 ] ||
        missing "functions have no $pad (CET, BTI)"
    if readelf -nW "$begin" 2>/dev/null | grep -q "$marks"; then
        echo "$notes" | grep -q "$marks" || missing "it is not marked $marks"
    fi
done
exit $bad
