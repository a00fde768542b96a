/*
 * sim_binding.h - what the files of kubelua.simcore share. They also use the
 * checks and guards of lua/src/binding.h, and keep its rules.
 */
#ifndef KUBELUA_SIM_BINDING_H
#define KUBELUA_SIM_BINDING_H

#include "binding.h"

#include "kubelua/sim.h"

#pragma GCC visibility push(hidden) /* a rock is built without that flag */

#define TYPE_SIM "kubelua.sim"

/* sim.c: the simulator at `index`; raises if it is closed. */
kl_sim *check_sim(lua_State *L, int index);

/* sim_faults.c: methods of a simulator. */
int sim_fault(lua_State *L);
int sim_faults(lua_State *L);
int sim_heal(lua_State *L);
int sim_snapshot(lua_State *L);
int sim_restore(lua_State *L);

#pragma GCC visibility pop

#endif
