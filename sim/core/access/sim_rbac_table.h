/*
 * sim_rbac_table.h - the roles and bindings that a new cluster has, a table
 * made by sim/tools/roles.
 */
#ifndef KL_SIM_RBAC_TABLE_H
#define KL_SIM_RBAC_TABLE_H

#include <stddef.h>

/* One object each, as JSON; NULL ends the array. */
extern const char *const kl__sim_rbac_objects[];

#endif
