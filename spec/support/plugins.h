/*
 * plugins.h - exec credential plugins for specs: small shell scripts.
 */
#ifndef KL_SPEC_PLUGINS_H
#define KL_SPEC_PLUGINS_H

#include "base/buf.h"
#include "kubelua/config.h"

#define PLUGIN_CLUSTER "{server: \"https://s:6443\"}"
#define PLUGIN_V1 "client.authentication.k8s.io/v1"

/* The JSON of an ExecCredential with that status. */
#define PLUGIN_ANSWER(status)                                  \
    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" PLUGIN_V1 \
    "\",\"status\":{" status "}}"

/* A config whose user runs the script "plugin" in the temporary folder, with
 * that body; each run adds a line to the file "runs". `more`: further fields of
 * "exec", after a comma. */
kl_config *plugin_config(const char *body, const char *more);

/* The same with a script that prints an ExecCredential with that status. */
kl_config *plugin_answering(const char *status);

/* Asserts that a request gets one header, with this value. */
void assert_authorization(kl_config *config, const char *value);

/* Asserts that getting credentials fails with that code and message; takes the
 * config. */
void assert_credentials_refused(kl_config *config, kl_code code,
                                const char *message);

/* The content of a file in the folder; owned by the caller. */
kl__buf temp_read(const char *name);

#endif
