/*
 * status.c - puts the state of an informer into words, for errors and logs; see
 * status.h.
 */
#include "informer/status.h"

#include "api/client.h"

#include <stdio.h>

const char *kl_informer_state_name(kl_informer_state state)
{
    static const char *const names[] = {
        [KL_STATE_RESOLVING] = "resolving", [KL_STATE_LISTING] = "listing",
        [KL_STATE_STREAMING] = "streaming", [KL_STATE_WATCHING] = "watching",
        [KL_STATE_BACKOFF] = "backoff",     [KL_STATE_STOPPED] = "stopped",
    };

    return (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state]
                                                            : "unknown";
}

const char *kl_reconnect_name(kl_reconnect reason)
{
    static const char *const names[] = {
        [KL_RECONNECT_ENDED] = "ended",
        [KL_RECONNECT_SILENT] = "silent",
        [KL_RECONNECT_SLOW] = "slow",
        [KL_RECONNECT_EXPIRED] = "expired",
        [KL_RECONNECT_DOUBTED] = "doubted",
        [KL_RECONNECT_REFUSED] = "refused",
        [KL_RECONNECT_RESHARDED] = "resharded",
        [KL_RECONNECT_BROKEN] = "broken",
    };

    return (size_t)reason < KL_RECONNECT_REASONS ? names[reason] : "unknown";
}

/* What an informer waits for, in each state before it has synced. */
static const char *waits_for(kl_informer_state state)
{
    switch (state) {
    case KL_STATE_RESOLVING:
        return "it is asking the server for the resource";
    case KL_STATE_LISTING:
    case KL_STATE_STREAMING:
        return "the list is still coming in";
    case KL_STATE_WATCHING:
        return "the list is there and is being applied";
    case KL_STATE_STOPPED:
        return "it was stopped";
    default:
        return "it will try again";
    }
}

void kl__status_reason(const kl_informer_status *status, kl__buf *out)
{
    if (status->state == KL_STATE_BACKOFF) {
        kl__buf_printf(out, "the next try is in %.1f s",
                       (double)status->retry_in_ms / 1000);
    } else if (status->plugin[0] != '\0') {
        kl__buf_printf(out,
                       "it waits for the exec credential plugin %s, which has "
                       "been running for %.1f s",
                       status->plugin, (double)status->plugin_ms / 1000);
    } else {
        kl__buf_puts(out, waits_for(status->state));
    }
    if (status->failures > 0) {
        kl__buf_printf(out, "; failed tries: %llu",
                       (unsigned long long)status->failures);
    }
    if (status->error.code != KL_OK) {
        kl__buf_printf(out, "; the last error: %s", status->error.message);
    }
}

void kl__status_plugin(kl_informer_status *status, kl_client *client)
{
    const char *command = NULL;
    int64_t ms = -1;

    if (status->state != KL_STATE_BACKOFF &&
        status->state != KL_STATE_STOPPED) {
        ms = kl__client_plugin_ms(client, &command);
    }
    if (ms >= 0) {
        snprintf(status->plugin, sizeof(status->plugin), "%s", command);
        status->plugin_ms = ms;
    }
}
