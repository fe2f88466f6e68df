/* fuzz/fuzz_agentapi.c — whatever an Agent API server sends: fuzz/adapter.h says what holds. */
#include "fuzz/adapter.h"
#include "remote/remote.h"

FUZZ(agentapi)
{
    fuzz_adapter(&rm_agentapi, in);
}
