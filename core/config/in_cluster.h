/*
 * in_cluster.h - the service account that a pod runs as.
 */
#ifndef KL_CONFIG_IN_CLUSTER_H
#define KL_CONFIG_IN_CLUSTER_H

#include "base/buf.h"
#include "config/settings.h"

/*
 * Fills `settings` from KUBERNETES_SERVICE_HOST and _PORT and the token, CA and
 * namespace in `folder` (NULL: where a pod has them). True in `*usable` unless
 * this is no pod; then `why` gets the reason. KL_ENOMEM. The settings are to be
 * released in any case.
 */
kl_code kl__in_cluster_read(const char *folder, kl__settings *settings,
                            bool *usable, kl__buf *why, kl_error *err);

#endif
