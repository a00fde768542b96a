/*
 * in_cluster.h - the configuration inside of a pod: the API server's address
 * from the environment, and the mounted token of the pod's service account.
 */
#ifndef KL_CONFIG_IN_CLUSTER_H
#define KL_CONFIG_IN_CLUSTER_H

#include "base/buf.h"
#include "config/settings.h"

/*
 * Fills `settings` from KUBERNETES_SERVICE_HOST and _PORT, and from the token,
 * CA and namespace in `folder` (NULL: the folder in which Kubernetes mounts
 * them); POD_NAMESPACE replaces that namespace. `*usable` is true in a pod with
 * a service account; else it is false and `why` gets the reason. KL_ENOMEM. The
 * caller frees the settings, also after a failure.
 */
kl_code kl__in_cluster_read(const char *folder, kl__settings *settings,
                            bool *usable, kl__buf *why, kl_error *err);

#endif
