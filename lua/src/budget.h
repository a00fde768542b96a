/*
 * budget.h - what C functions that a script may keep busy need of budget.c.
 */
#ifndef KUBELUA_BUDGET_H
#define KUBELUA_BUDGET_H

#include "binding.h"

#pragma GCC visibility push(hidden)

typedef enum limit_over { LIMIT_KEPT, LIMIT_TIME, LIMIT_MEMORY } limit_over;

typedef struct budget budget;

/* Raises if the code that runs between core.budget_begin and limits_end has
 * passed a limit. Call it every few microseconds. */
void budget_look(lua_State *L);

#pragma GCC visibility pop

#endif
