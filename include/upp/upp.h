/* upp/upp.h — all of libupp. */
#pragma once

#include <upp/base.h>
#include <upp/hooks.h>
#include <upp/http.h>
#include <upp/llm.h>
#include <upp/media.h>
#include <upp/message.h>
#include <upp/model.h>
#include <upp/provider.h>
#include <upp/schema.h>
#include <upp/thread.h>
#include <upp/tool.h>
#include <upp/turn.h>
#include <upp/wait.h>
