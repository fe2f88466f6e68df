/* dialects/aitp/states.c — the states of requests and quotes, and what moves them. */
#include "dialects/aitp/capabilities.h"

/* The state after a move. What is not in the table is not allowed, and changes nothing. */
static const uint8_t after[WD_AITP_STATES][WD_AITP_MOVES] = {
    [WD_AITP_OPEN] = {[WD_AITP_ASKED_AGAIN] = WD_AITP_SUPERSEDED,
                      [WD_AITP_DECIDES] = WD_AITP_DECIDED,
                      [WD_AITP_ANSWERS] = WD_AITP_ANSWERED},
    [WD_AITP_QUOTED] = {[WD_AITP_IS_PAID] = WD_AITP_PAID, [WD_AITP_EXPIRES] = WD_AITP_EXPIRED},
    [WD_AITP_PAID] =
        {[WD_AITP_PENDS] = WD_AITP_PENDING, [WD_AITP_SUCCEEDS] = WD_AITP_SUCCESS, [WD_AITP_FAILS] = WD_AITP_FAILURE},
    [WD_AITP_PENDING] =
        {[WD_AITP_PENDS] = WD_AITP_PENDING, [WD_AITP_SUCCEEDS] = WD_AITP_SUCCESS, [WD_AITP_FAILS] = WD_AITP_FAILURE},
    [WD_AITP_EXPIRED] = {[WD_AITP_FAILS] = WD_AITP_FAILURE}, /* the merchant says that the late payment failed */
};

uint8_t wd_aitp_after(uint8_t state, enum wd_aitp_move move)
{
    return state < WD_AITP_STATES && move < WD_AITP_MOVES ? after[state][move] : 0;
}

const char *wd_aitp_state_name(uint8_t state)
{
    static const char *const names[WD_AITP_STATES] = {
        "", "open", "decided", "answered", "superseded", "quoted", "paid", "pending", "success", "failure", "expired",
    };
    return state < WD_AITP_STATES ? names[state] : "";
}
