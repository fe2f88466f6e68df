/* weft/weft.h — all of libweft. */
#pragma once

#include <upp/upp.h>
#include <weft/agent.h>
#include <weft/agentapi.h>
#include <weft/envelope.h>
#include <weft/execution.h>
#include <weft/fiber.h>
#include <weft/middleware.h>
#include <weft/runtime.h>
#include <weft/session.h>
#include <weft/tree.h>
