/*
 * informer_options.h - reads the table of options of core.informer, which
 * kubelua/informer/options.lua has checked.
 */
#ifndef KUBELUA_INFORMER_OPTIONS_H
#define KUBELUA_INFORMER_OPTIONS_H

#include "compat.h"

#include "kubelua/informer.h"

/* Fills `options` from the table at `index`. They borrow from the table and
 * from what this pushes: up to four values. Raises where a type is wrong. */
void push_informer_options(lua_State *L, int index,
                           kl_informer_options *options);

#endif
