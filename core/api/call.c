/*
 * call.c - kl_client_call: sends a request and waits for its answer.
 */
#include "kubelua/request.h"

kl_code kl_client_call(kl_client *client, const kl_call *call, kl_reply *reply,
                       kl_error *err)
{
    kl_request *request;
    kl_error local;
    kl_code code;

    *reply = (kl_reply){0};
    err = err != NULL ? err : &local;
    if (call->streams) {
        return kl_error_set(err, KL_EINVAL,
                            "a call that streams is sent with kl_client_send");
    }
    request = kl_client_send(client, call, NULL, NULL, err);
    if (request == NULL) {
        return err->code;
    }
    /* Without a limit: call->timeout_ms ends the request. */
    code = kl_request_wait(request, -1);
    if (code == KL_OK) {
        code = kl_request_result(request, reply, err);
    }
    kl_request_free(request);
    return code;
}
