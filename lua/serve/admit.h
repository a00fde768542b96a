/*
 * admit.h - the server of admission webhooks in kubelua.serve.
 */
#ifndef KUBELUA_SERVE_ADMIT_H
#define KUBELUA_SERVE_ADMIT_H

#include "compat.h"

#pragma GCC visibility push(hidden)

/* module: module. Adds its function `admit`. */
void bind_admit(lua_State *L);

#pragma GCC visibility pop

#endif
