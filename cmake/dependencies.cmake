# The libraries that KubeLua stands on; the README says why each is there.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl>=7.80)
pkg_check_modules(YYJSON REQUIRED IMPORTED_TARGET yyjson>=0.8)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd>=1.4.5)

# For CAs that connections share (core/http/trust.h): the OpenSSL that libcurl is
# linked with. With another TLS in libcurl, or without its headers, libcurl reads
# the CAs for each connection.
option(KUBELUA_OPENSSL "Share CAs, where libcurl's TLS is OpenSSL" ON)
set(KUBELUA_PRIVATE_PACKAGES "libcurl yyjson yaml-0.1 zlib libzstd")
if(KUBELUA_OPENSSL)
    pkg_check_modules(OPENSSL QUIET IMPORTED_TARGET libssl>=3.0 libcrypto)
    if(OPENSSL_FOUND AND "ssl" IN_LIST CURL_STATIC_LIBRARIES)
        string(APPEND KUBELUA_PRIVATE_PACKAGES " libssl libcrypto")
    else()
        message(STATUS "libcurl's TLS is not OpenSSL 3 with headers: no shared "
            "CAs")
        set(KUBELUA_OPENSSL OFF)
    endif()
endif()

# The servers of kubelua run --serve and --admit; without them those options are
# refused.
pkg_check_modules(MICROHTTPD QUIET IMPORTED_TARGET libmicrohttpd>=0.9.71)
pkg_check_modules(GNUTLS QUIET IMPORTED_TARGET gnutls)

# The simulator's own. KUBELUA_SIM=AUTO leaves the simulator out where they are
# missing.
if(KUBELUA_SIM)
    set(required REQUIRED)
    if(KUBELUA_SIM STREQUAL AUTO)
        set(required QUIET)
    endif()
    pkg_check_modules(MICROHTTPD ${required} IMPORTED_TARGET
                      libmicrohttpd>=0.9.71)
    pkg_check_modules(GNUTLS ${required} IMPORTED_TARGET gnutls)
    pkg_check_modules(PCRE2 ${required} IMPORTED_TARGET libpcre2-8>=10.34)
    if(NOT MICROHTTPD_FOUND OR NOT GNUTLS_FOUND OR NOT PCRE2_FOUND)
        message(STATUS "No libmicrohttpd, GnuTLS or PCRE2: no simulated API "
            "server")
        set(KUBELUA_SIM OFF)
    endif()
endif()

# Only the C tests need cmocka. AUTO becomes true or false here.
if(KUBELUA_TESTS)
    pkg_check_modules(CMOCKA QUIET IMPORTED_TARGET cmocka)
    if(CMOCKA_FOUND AND GNUTLS_FOUND)
        set(KUBELUA_TESTS ON)
    elseif(KUBELUA_TESTS STREQUAL AUTO)
        message(STATUS "No cmocka or GnuTLS: the C tests are not built "
            "(scripts/packages test installs them)")
        set(KUBELUA_TESTS OFF)
    else()
        message(FATAL_ERROR "KUBELUA_TESTS=ON needs cmocka and GnuTLS: install "
            "them (scripts/packages test; Debian: libcmocka-dev, "
            "libgnutls28-dev), or build with -DKUBELUA_TESTS=OFF")
    endif()
endif()
