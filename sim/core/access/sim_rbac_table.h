/*
 * sim_rbac_table.h - the roles and bindings that every cluster starts with.
 */
#ifndef KL_SIM_RBAC_TABLE_H
#define KL_SIM_RBAC_TABLE_H

/* One object; a row without a kind ends the table. */
typedef struct kl__sim_rbac_row {
    const char *kind; /* ClusterRole or ClusterRoleBinding */
    const char *name;
    const char *labels; /* YAML: ", NAME: VALUE" for each */
    const char *rest;   /* YAML: the members beside metadata, and a "}" */
} kl__sim_rbac_row;

extern const kl__sim_rbac_row kl__sim_rbac_rows[];

#endif
