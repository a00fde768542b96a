/*
 * kubelua.h - the whole public interface of libkubelua. The simulated API
 * server is another library: kubelua/sim.h.
 */
#ifndef KUBELUA_KUBELUA_H
#define KUBELUA_KUBELUA_H

#include "kubelua/client.h"
#include "kubelua/config.h"
#include "kubelua/cursor.h"
#include "kubelua/error.h"
#include "kubelua/event_queue.h"
#include "kubelua/fields.h"
#include "kubelua/handler.h"
#include "kubelua/informer.h"
#include "kubelua/kind.h"
#include "kubelua/list.h"
#include "kubelua/log.h"
#include "kubelua/manifest.h"
#include "kubelua/memory.h"
#include "kubelua/metric.h"
#include "kubelua/object.h"
#include "kubelua/queue.h"
#include "kubelua/report.h"
#include "kubelua/request.h"
#include "kubelua/shard.h"
#include "kubelua/shared.h"
#include "kubelua/shared_hash.h"
#include "kubelua/shared_load.h"
#include "kubelua/shared_serve.h"
#include "kubelua/shared_write.h"
#include "kubelua/text.h"
#include "kubelua/value.h"
#include "kubelua/verbs.h"
#include "kubelua/version.h"
#include "kubelua/watchdog.h"
#include "kubelua/writer.h"

#endif
