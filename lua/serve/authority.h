/*
 * authority.h - makes certificates in kubelua.serve: a CA, and certificates of
 * servers that it signs.
 */
#ifndef KUBELUA_SERVE_AUTHORITY_H
#define KUBELUA_SERVE_AUTHORITY_H

#include "compat.h"

#pragma GCC visibility push(hidden)

/* module: module. Adds make_authority, make_certificate and read_certificate.
 */
void bind_authority(lua_State *L);

#pragma GCC visibility pop

#endif
