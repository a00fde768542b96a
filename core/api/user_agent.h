/*
 * user_agent.h - how the library calls itself in its requests, and what may
 * stand in a header at all.
 */
#ifndef KL_API_USER_AGENT_H
#define KL_API_USER_AGENT_H

#include <stdbool.h>

/* "kubelua/0.1.0 (linux/amd64)", in Go's words for systems and machines as all
 * of the field; owned by the caller (kl__free). NULL: out of memory. */
char *kl__user_agent(void);

/* Whether a text is one line of printable ASCII, so that it can be a header's
 * value and nothing but that. */
bool kl__is_header_text(const char *text);

#endif
