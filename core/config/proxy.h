/*
 * proxy.h - finds the proxy for a server from HTTPS_PROXY, HTTP_PROXY and
 * NO_PROXY, by the rules of Go's http.ProxyFromEnvironment.
 */
#ifndef KL_CONFIG_PROXY_H
#define KL_CONFIG_PROXY_H

#include "kubelua/error.h"

/* KL_OK if the text is the URL of an http, https or socks5 proxy; else
 * KL_ECONFIG. */
kl_code kl__proxy_check(const char *proxy_url, kl_error *err);

/* Finds the proxy for this server's URL. The caller owns `*proxy_url`; NULL: no
 * proxy. KL_ECONFIG, KL_ENOMEM. */
kl_code kl__proxy_from_environment(const char *server, char **proxy_url,
                                   kl_error *err);

#endif
