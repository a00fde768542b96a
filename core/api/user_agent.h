/*
 * user_agent.h - the User-Agent header of requests, and the check of a header's
 * value.
 */
#ifndef KL_API_USER_AGENT_H
#define KL_API_USER_AGENT_H

#include <stdbool.h>

/* "kubelua/0.2.0 (linux/amd64)", with Go's names of systems and machines, as
 * other Kubernetes clients; the caller frees it (kl__free). NULL: out of
 * memory. */
char *kl__user_agent(void);

/* True if a text is one line of printable ASCII: it can be the value of a
 * header and cannot add another header. */
bool kl__is_header_text(const char *text);

#endif
