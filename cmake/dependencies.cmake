# The libraries that the core stands on; the README says why each is there.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl>=7.80)
pkg_check_modules(YYJSON REQUIRED IMPORTED_TARGET yyjson>=0.8)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd>=0.9.71)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(GNUTLS REQUIRED IMPORTED_TARGET gnutls)
