/*
 * owner_put.h - puts changed routes into a map.
 */
#ifndef KL_SHARED_OWNER_PUT_H
#define KL_SHARED_OWNER_PUT_H

#include "kubelua/shared.h"
#include "shared/keeping.h"

/*
 * Puts or removes each changed name in the table "services". `keeping` NULL: a
 * Service that becomes empty is empty. KL_ENOMEM: this
 * Service and those after it come at the next call. A Service that is too large
 * is left out: logged, and listed in the report of the map. Large Services may
 * come at a later call: see kl__routes_flush.
 */
kl_code kl__put_routes(kl__routes *routes, kl_shared *map, kl__keeping *keeping,
                       kl_error *err);

#endif
