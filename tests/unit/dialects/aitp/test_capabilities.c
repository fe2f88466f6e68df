/* AITP's capabilities: messages by themselves, requests and replies over a thread, rules of threads, limits. */
#include "dialects/aitp/capabilities.h"

#include <stdlib.h>

#include "dialects/aitp/aitp.h"
#include "dialects/core/convert.h"
#include "json/read.h"
#include "json/value.h"
#include "support/test.h"

enum { ROOM = 64 << 20 };

static void freep(char **p)
{
    free(*p);
}

#define SCHEMA(name, body) "{\"$schema\":\"https://aitp.dev/capabilities/" name "/v1.0.0/schema.json\"" body "}"
#define PAYMENTS(body)     SCHEMA("aitp-01-payments", body)
#define DECISIONS(body)    SCHEMA("aitp-02-decisions", body)
#define DATA(body)         SCHEMA("aitp-03-data-request", body)
#define NEAR(body)         SCHEMA("aitp-04-near-wallet", body)
#define EVM(body)          SCHEMA("aitp-05-evm-wallet", body)

static const char *const names[] = {"aitp-01-payments", "aitp-02-decisions", "aitp-03-data-request",
                                    "aitp-04-near-wallet", "aitp-05-evm-wallet"};

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *messages[6], *problems, *states;
} threads[] = {
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}]}")},
     "",
     "open r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}]}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"}],\"request_decision_id\":\"r\"}")},
     "",
     "decided r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}]}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"b1\"}]}")},
     "",
     "decided r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}]}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"z\"}],\"request_decision_id\":\"r\"}")},
     "error /messages/1/content/0 AITP-8\n",
     "decided r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}]}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"},{\"id\":\"b\"}],\"request_decision_id\":\"r\"}")},
     "error /messages/1/content/0 AITP-8\n",
     "decided r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}],\"type\":\"confirmation\"}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"},{\"id\":\"b\"}],\"request_decision_id\":\"r\"}")},
     "error /messages/1/content/0 AITP-8\n",
     "decided r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}],\"type\":\"checkbox\"}"),
      DECISIONS(
          ",\"decision\":{\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"quantity\":2}],\"request_decision_id\":\"r\"}")},
     "",
     "decided r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}],\"type\":\"products\"}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"b1\"},{\"id\":\"b\"}],\"request_decision_id\":\"r\"}")},
     "",
     "decided r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}]}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"}],\"request_decision_id\":\"other\"}")},
     "error /messages/1/content/0 AITP-8\n",
     "open r\n"},
    {{DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"}]}")}, "error /messages/0/content/0 AITP-8\n", ""},
    /* Whoever asks does not answer. */
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"}]}"), "well?",
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"}],\"request_decision_id\":\"r\"}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"}],\"request_decision_id\":\"r\"}")},
     "error /messages/2/content/0 AITP-8\n",
     "decided r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}]}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"}],\"request_decision_id\":\"r\"}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"b\"}],\"request_decision_id\":\"r\"}")},
     "warning /messages/2/content/0 AITP-8\n",
     "decided r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}]}"),
      DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}]}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"}],\"request_decision_id\":\"r\"}")},
     "warning /messages/1/content/0 AITP-8\n",
     "superseded r\ndecided r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}]}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"}],\"request_decision_id\":\"r\"}"),
      DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}]}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"}],\"request_decision_id\":\"r\"}")},
     "",
     "decided r\ndecided r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[]}")},
     "error /messages/0/content/0 AITP-8\n",
     "open r\n"},
    {{DECISIONS(",\"request_decision\":{\"options\":[{\"id\":\"a\"}]}")}, "error /messages/0/content/0 AITP-8\n", ""},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}],\"type\":\"dice\"}")},
     "error /messages/0/content/0 AITP-8\n",
     "open r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}],\"new\":1}")},
     "",
     "open r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\",\"five_star_rating\":5.5}]}")},
     "error /messages/0/content/0 AITP-8\n",
     "open r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\",\"reviews_count\":1.5}]}")},
     "error /messages/0/content/0 AITP-8\n",
     "open r\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\",\"quote\":{\"type\":\"Quote\",\"quote_"
                "id\":\"q\",\"payee_id\":\"p\",\"payment_plans\":[{\"plan_id\":\"1\",\"plan_type\":\"one-time\","
                "\"amount\":\"5\",\"currency\":\"USD\"}],\"valid_until\":\"2026-01-01\"}}]}")},
     "error /messages/0/content/0 AITP-8\nerror /messages/0/content/0 AITP-8\n",
     "open r\nquoted q\n"},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\"},{\"id\":\"b\",\"variants\":[{\"id\":"
                "\"b1\"}]}]}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\",\"color\":\"red\"}],\"request_decision_id\":\"r\"}")},
     "warning /messages/1/content/0 AITP-8\n",
     "decided r\n"},
    {{DECISIONS(",\"request_decision\":7")}, "error /messages/0/content/0 AITP-8\n", ""},
    {{DECISIONS(",\"x\":1")}, "warning /messages/0/content/0 AITP-8\n", ""},
    {{DECISIONS("")}, "error /messages/0/content/0 AITP-8\n", ""},
    {{DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"}]},\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":"
                "\"a\"}]}")},
     "error /messages/0/content/0 AITP-8\nerror /messages/0/content/0 AITP-8\n",
     ""},
    {{DECISIONS(",\"request_decision\":{\"id\":\"r\",\"options\":[{\"id\":\"a\",\"quote\":{\"type\":\"Quote\",\"quote_"
                "id\":\"q\",\"payee_id\":\"p\",\"payment_plans\":[],\"valid_until\":\"2027-01-01T00:00:00Z\"}}]}"),
      DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"}],\"request_decision_id\":\"r\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"success\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}")},
     "",
     "decided r\nsuccess q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}")},
     "",
     "quoted q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}")},
     "",
     "paid q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"pending\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}")},
     "",
     "pending q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"pending\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"pending\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"success\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}")},
     "",
     "success q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"failure\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}")},
     "",
     "failure q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}")},
     "warning /messages/2/content/0 AITP-14\n",
     "paid q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"other\",\"timestamp\":\"2026-01-01T00:00:"
               "00Z\",\"payer_signature\":\"s\"}")},
     "error /messages/2/content/0 AITP-14\n",
     "paid q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"success\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"other\",\"timestamp\":\"2026-01-01T00:00:"
               "00Z\",\"payer_signature\":\"s\"}")},
     "error /messages/3/content/0 AITP-14\n",
     "success q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"success\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"success\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}")},
     "warning /messages/3/content/0 AITP-14\n",
     "success q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"success\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"failure\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}")},
     "error /messages/3/content/0 AITP-14\n",
     "success q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"success\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}")},
     "error /messages/1/content/0 AITP-14\n",
     "quoted q\n"},
    {{PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}")},
     "error /messages/0/content/0 AITP-14\n",
     ""},
    {{PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"success\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}")},
     "error /messages/0/content/0 AITP-14\n",
     ""},
    {{PAYMENTS(
          ",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{\"amount\":"
          "\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\",\"token\":\"t\","
          "\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\",\"expiration\":\"2026-01-01T00:01:30Z\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}")},
     "",
     "paid q\n"},
    {{PAYMENTS(
          ",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{\"amount\":"
          "\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\",\"token\":\"t\","
          "\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\",\"expiration\":\"2026-01-01T00:00:30Z\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}")},
     "error /messages/1/content/0 AITP-14\n",
     "expired q\n"},
    {{PAYMENTS(
          ",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{\"amount\":"
          "\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\",\"token\":\"t\","
          "\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\",\"expiration\":\"2026-01-01T00:00:30Z\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"failure\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\"}")},
     "error /messages/1/content/0 AITP-14\n",
     "failure q\n"},
    {{PAYMENTS(
          ",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{\"amount\":"
          "\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\",\"token\":\"t\","
          "\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\",\"expiration\":\"2026-01-01T00:00:30Z\"}"),
      "hello"},
     "",
     "expired q\n"},
    {{PAYMENTS(",\"wrapped_quote\":{\"original_quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\","
               "\"payment_options\":[{\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_"
               "payment_channel\",\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"},\"wrappers\":[{"
               "\"affiliate_id\":\"a\",\"role\":\"discovery\",\"next_recipient\":\"n\",\"timestamp\":\"t\","
               "\"signature\":\"s\",\"added_affiliates\":[{\"id\":\"i\",\"role\":\"other\",\"weight\":1}]}]}"),
      PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}")},
     "",
     "paid q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\",\"color\":1}")},
     "warning /messages/0/content/0 AITP-14\n",
     "quoted q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\",\"expiration\":\"soon\"}")},
     "error /messages/0/content/0 AITP-14\n",
     "quoted q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\",\"revenue_share\":{\"affiliate_"
               "share_bps\":5,\"affiliates\":[{\"id\":\"i\",\"role\":\"boss\",\"weight\":0}]}}")},
     "error /messages/0/content/0 AITP-14\nerror /messages/0/content/0 AITP-14\n",
     "quoted q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":1.50,\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\",\"token\":"
               "\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}")},
     "error /messages/0/content/0 AITP-14\n",
     "quoted q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}")},
     "error /messages/0/content/0 AITP-14\n",
     "quoted q\n"},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"cash\",\"token\":\"t\","
               "\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}")},
     "error /messages/0/content/0 AITP-14\n",
     "quoted q\n"},
    {{PAYMENTS(",\"request_payment\":{\"quote_id\":\"q\"}")},
     "warning /messages/0/content/0 AITP-14\nwarning /messages/0/content/0 AITP-14\n",
     ""},
    {{PAYMENTS(",\"top_up_request\":{\"channel_id\":\"c\",\"currency\":\"USD\",\"merchant_id\":\"m\",\"timestamp\":"
               "\"t\",\"merchant_signature\":\"s\",\"amount\":\"5\"}"),
      PAYMENTS(",\"top_up_response\":{\"channel_id\":\"c\",\"amount\":\"5\",\"currency\":\"USD\",\"payer_id\":\"p\","
               "\"timestamp\":\"t\",\"payer_signature\":\"s\",\"new_balance\":\"7.5\"}")},
     "",
     "answered c\n"},
    {{PAYMENTS(",\"top_up_response\":{\"channel_id\":\"c\",\"amount\":\"5\",\"currency\":\"USD\",\"payer_id\":\"p\","
               "\"timestamp\":\"t\",\"payer_signature\":\"s\"}")},
     "error /messages/0/content/0 AITP-14\n",
     ""},
    {{PAYMENTS(",\"quote\":{\"quote_id\":\"q\",\"merchant_id\":\"m\",\"description\":\"d\",\"payment_options\":[{"
               "\"amount\":\"1.50\",\"currency\":\"USD\",\"payment_methods\":[{\"type\":\"near_payment_channel\","
               "\"token\":\"t\",\"recipient\":\"r\"}]}],\"merchant_signature\":\"s\"}"),
      PAYMENTS(",\"payment\":{\"quote_id\":\"q\",\"payment_method\":{\"type\":\"near_payment_channel\",\"token\":\"t\","
               "\"channel_id\":\"c\",\"currency\":\"USD\"},\"payer_id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00Z\","
               "\"payer_signature\":\"s\"}"),
      PAYMENTS(",\"payment_confirmation\":{\"quote_id\":\"q\",\"payment_id\":\"i\",\"result\":\"success\","
               "\"timestamp\":\"t\",\"merchant_signature\":\"s\",\"details\":[{\"label\":\"l\",\"value\":7},{\"label\":"
               "\"l\",\"value\":\"v\",\"url\":\"u\"},{\"label\":\"l\",\"value\":null}]}")},
     "error /messages/2/content/0 AITP-14\n",
     "success q\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"fields\":[{\"id\":\"n\",\"type\":"
           "\"number\"},{\"id\":\"e\",\"type\":\"email\"},{\"id\":\"s\",\"type\":\"select\",\"options\":[\"x\",\"y\"]},"
           "{\"id\":\"m\",\"required\":true},{\"id\":\"c\",\"type\":\"combobox\",\"options\":[\"x\"]}]}}")},
     "",
     "open f\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"fields\":[{\"id\":\"n\",\"type\":"
           "\"number\"},{\"id\":\"e\",\"type\":\"email\"},{\"id\":\"s\",\"type\":\"select\",\"options\":[\"x\",\"y\"]},"
           "{\"id\":\"m\",\"required\":true},{\"id\":\"c\",\"type\":\"combobox\",\"options\":[\"x\"]}]}}"),
      DATA(",\"data\":{\"fields\":[{\"id\":\"m\",\"value\":\"v\"}],\"request_data_id\":\"f\"}")},
     "",
     "answered f\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"fields\":[{\"id\":\"n\",\"type\":"
           "\"number\"},{\"id\":\"e\",\"type\":\"email\"},{\"id\":\"s\",\"type\":\"select\",\"options\":[\"x\",\"y\"]},"
           "{\"id\":\"m\",\"required\":true},{\"id\":\"c\",\"type\":\"combobox\",\"options\":[\"x\"]}]}}"),
      DATA(",\"data\":{\"fields\":[{\"id\":\"m\",\"value\":\"v\"}]}")},
     "",
     "answered f\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"fields\":[{\"id\":\"n\",\"type\":"
           "\"number\"},{\"id\":\"e\",\"type\":\"email\"},{\"id\":\"s\",\"type\":\"select\",\"options\":[\"x\",\"y\"]},"
           "{\"id\":\"m\",\"required\":true},{\"id\":\"c\",\"type\":\"combobox\",\"options\":[\"x\"]}]}}"),
      DATA(",\"data\":{\"fields\":[{\"id\":\"n\",\"value\":\"1\"}],\"request_data_id\":\"f\"}")},
     "error /messages/1/content/0 AITP-14\n",
     "answered f\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"fields\":[{\"id\":\"n\",\"type\":"
           "\"number\"},{\"id\":\"e\",\"type\":\"email\"},{\"id\":\"s\",\"type\":\"select\",\"options\":[\"x\",\"y\"]},"
           "{\"id\":\"m\",\"required\":true},{\"id\":\"c\",\"type\":\"combobox\",\"options\":[\"x\"]}]}}"),
      DATA(",\"data\":{\"fields\":[{\"id\":\"m\",\"value\":\"\"}],\"request_data_id\":\"f\"}")},
     "error /messages/1/content/0 AITP-14\n",
     "answered f\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"fields\":[{\"id\":\"n\",\"type\":"
           "\"number\"},{\"id\":\"e\",\"type\":\"email\"},{\"id\":\"s\",\"type\":\"select\",\"options\":[\"x\",\"y\"]},"
           "{\"id\":\"m\",\"required\":true},{\"id\":\"c\",\"type\":\"combobox\",\"options\":[\"x\"]}]}}"),
      DATA(",\"data\":{\"fields\":[{\"id\":\"m\",\"value\":\"v\"},{\"id\":\"n\",\"value\":\"one\"}],\"request_data_"
           "id\":\"f\"}")},
     "error /messages/1/content/0 AITP-14\n",
     "answered f\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"fields\":[{\"id\":\"n\",\"type\":"
           "\"number\"},{\"id\":\"e\",\"type\":\"email\"},{\"id\":\"s\",\"type\":\"select\",\"options\":[\"x\",\"y\"]},"
           "{\"id\":\"m\",\"required\":true},{\"id\":\"c\",\"type\":\"combobox\",\"options\":[\"x\"]}]}}"),
      DATA(",\"data\":{\"fields\":[{\"id\":\"m\",\"value\":\"v\"},{\"id\":\"n\",\"value\":\"1.5\"},{\"id\":\"e\","
           "\"value\":\"a@b.c\"},{\"id\":\"s\",\"value\":\"y\"},{\"id\":\"c\",\"value\":\"free\"}],\"request_data_id\":"
           "\"f\"}")},
     "",
     "answered f\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"fields\":[{\"id\":\"n\",\"type\":"
           "\"number\"},{\"id\":\"e\",\"type\":\"email\"},{\"id\":\"s\",\"type\":\"select\",\"options\":[\"x\",\"y\"]},"
           "{\"id\":\"m\",\"required\":true},{\"id\":\"c\",\"type\":\"combobox\",\"options\":[\"x\"]}]}}"),
      DATA(",\"data\":{\"fields\":[{\"id\":\"m\",\"value\":\"v\"},{\"id\":\"e\",\"value\":\"nobody\"}],\"request_data_"
           "id\":\"f\"}")},
     "error /messages/1/content/0 AITP-14\n",
     "answered f\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"fields\":[{\"id\":\"n\",\"type\":"
           "\"number\"},{\"id\":\"e\",\"type\":\"email\"},{\"id\":\"s\",\"type\":\"select\",\"options\":[\"x\",\"y\"]},"
           "{\"id\":\"m\",\"required\":true},{\"id\":\"c\",\"type\":\"combobox\",\"options\":[\"x\"]}]}}"),
      DATA(",\"data\":{\"fields\":[{\"id\":\"m\",\"value\":\"v\"},{\"id\":\"s\",\"value\":\"z\"}],\"request_data_id\":"
           "\"f\"}")},
     "error /messages/1/content/0 AITP-14\n",
     "answered f\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"fields\":[{\"id\":\"n\",\"type\":"
           "\"number\"},{\"id\":\"e\",\"type\":\"email\"},{\"id\":\"s\",\"type\":\"select\",\"options\":[\"x\",\"y\"]},"
           "{\"id\":\"m\",\"required\":true},{\"id\":\"c\",\"type\":\"combobox\",\"options\":[\"x\"]}]}}"),
      DATA(",\"data\":{\"fields\":[{\"id\":\"m\",\"value\":\"v\"},{\"id\":\"else\",\"value\":\"z\"}],\"request_data_"
           "id\":\"f\"}")},
     "warning /messages/1/content/0 AITP-14\n",
     "answered f\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"fields\":[{\"id\":\"n\",\"type\":"
           "\"number\"},{\"id\":\"e\",\"type\":\"email\"},{\"id\":\"s\",\"type\":\"select\",\"options\":[\"x\",\"y\"]},"
           "{\"id\":\"m\",\"required\":true},{\"id\":\"c\",\"type\":\"combobox\",\"options\":[\"x\"]}]}}"),
      DATA(",\"data\":{\"fields\":[{\"id\":\"m\",\"value\":\"v\"},{\"id\":\"n\",\"value\":1}],\"request_data_id\":"
           "\"f\"}")},
     "error /messages/1/content/0 AITP-14\n",
     "answered f\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"fields\":[{\"id\":\"n\",\"type\":"
           "\"number\"},{\"id\":\"e\",\"type\":\"email\"},{\"id\":\"s\",\"type\":\"select\",\"options\":[\"x\",\"y\"]},"
           "{\"id\":\"m\",\"required\":true},{\"id\":\"c\",\"type\":\"combobox\",\"options\":[\"x\"]}]}}"),
      DATA(",\"data\":{\"fields\":[{\"id\":\"m\",\"value\":\"v\"}],\"request_data_id\":\"f\"}"),
      DATA(",\"data\":{\"fields\":[{\"id\":\"m\",\"value\":\"v\"}],\"request_data_id\":\"f\"}")},
     "warning /messages/2/content/0 AITP-14\n",
     "answered f\n"},
    {{DATA(",\"data\":{\"fields\":[{\"id\":\"m\",\"value\":\"v\"}],\"request_data_id\":\"f\"}")},
     "error /messages/0/content/0 AITP-14\n",
     ""},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"json_url\":\"u\"}}"),
      DATA(",\"data\":{\"fields\":[{\"id\":\"m\",\"value\":\"v\"}],\"request_data_id\":\"f\"}")},
     "",
     "answered f\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{}}")},
     "warning /messages/0/content/0 AITP-14\n",
     "open f\n"},
    {{DATA(",\"request_data\":{\"id\":\"f\",\"description\":\"d\",\"form\":{\"fields\":[{\"id\":\"n\",\"type\":"
           "\"colour\",\"required\":\"yes\"}]}}")},
     "error /messages/0/content/0 AITP-14\nerror /messages/0/content/0 AITP-14\n",
     "open f\n"},
    {{NEAR(",\"request_account\":{\"request_id\":\"1\",\"description\":\"d\"}"),
      NEAR(",\"account_response\":{\"request_id\":\"1\",\"accounts\":[\"a\"]}")},
     "",
     "answered 1\n"},
    {{NEAR(",\"request_transaction\":{\"request_id\":\"1\",\"transaction\":{\"receiver_id\":\"r\",\"actions\":[{"
           "\"type\":\"Transfer\",\"params\":{\"deposit\":\"1\"}}]}}"),
      NEAR(",\"transaction_response\":{\"request_id\":\"1\",\"transaction_hash\":\"h\"}")},
     "",
     "answered 1\n"},
    {{NEAR(",\"request_message_signing\":{\"request_id\":\"1\",\"message\":{\"nonce\":"
           "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\",\"recipient\":\"r\",\"message\":\"m\"},\"state\":\"s\"}"),
      NEAR(",\"message_signing_response\":{\"request_id\":\"1\",\"account_id\":\"a\",\"public_key\":\"k\","
           "\"signature\":\"s\"}")},
     "",
     "answered 1\n"},
    {{NEAR(",\"token_notification\":{\"notification_id\":\"1\",\"token_type\":\"nep141\",\"token_contract\":\"c\"}")},
     "",
     ""},
    {{NEAR(",\"token_notification\":{\"notification_id\":\"1\",\"token_type\":\"nep171\",\"token_contract\":\"c\"}")},
     "error /messages/0/content/0 AITP-14\n",
     ""},
    {{NEAR(",\"request_message_signing\":{\"request_id\":\"1\",\"message\":{\"nonce\":\"AAAA\",\"recipient\":\"r\","
           "\"message\":\"m\"}}")},
     "error /messages/0/content/0 AITP-14\n",
     "open 1\n"},
    {{NEAR(",\"request_transaction\":{\"request_id\":\"1\",\"transaction\":{\"receiver_id\":\"r\",\"actions\":[{"
           "\"type\":\"Steal\",\"params\":[]}]}}")},
     "error /messages/0/content/0 AITP-14\nerror /messages/0/content/0 AITP-14\n",
     "open 1\n"},
    {{NEAR(",\"request_account\":{\"request_id\":\"1\"}"),
      NEAR(",\"transaction_response\":{\"request_id\":\"1\",\"transaction_hash\":\"h\"}")},
     "error /messages/1/content/0 AITP-14\n",
     "open 1\n"},
    {{NEAR(",\"request_account\":{\"request_id\":\"1\"}"),
      EVM(",\"address_response\":{\"request_id\":\"1\",\"addresses\":[]}")},
     "error /messages/1/content/0 AITP-14\n",
     "open 1\n"},
    {{EVM(",\"request_address\":{\"request_id\":\"1\",\"chain_id\":1}"),
      EVM(",\"address_response\":{\"request_id\":\"1\",\"addresses\":[\"0xaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaB\"]"
          "}")},
     "",
     "answered 1\n"},
    {{EVM(",\"request_address\":{\"request_id\":\"1\",\"chain_id\":\"1\"}"),
      EVM(",\"address_response\":{\"request_id\":\"1\",\"addresses\":[\"0x1\"]}")},
     "error /messages/0/content/0 AITP-14\nerror /messages/1/content/0 AITP-14\n",
     "answered 1\n"},
    {{EVM(",\"request_transaction\":{\"request_id\":\"1\",\"transaction\":{\"to\":"
          "\"0xaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaB\",\"from\":\"0xaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaB\","
          "\"data\":\"0x00\",\"value\":\"0x1\",\"gas\":\"0x1\",\"gasPrice\":\"0x1\",\"maxFeePerGas\":\"0x1\","
          "\"maxPriorityFeePerGas\":\"0x1\",\"nonce\":\"0x1\",\"accessList\":[{\"address\":"
          "\"0xaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaB\",\"storageKeys\":["
          "\"0x0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f\"]}]},\"chain_id\":1}"),
      EVM(",\"transaction_response\":{\"request_id\":\"1\",\"transaction_hash\":"
          "\"0x0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f\"}")},
     "",
     "answered 1\n"},
    {{EVM(",\"request_transaction\":{\"request_id\":\"1\",\"transaction\":{\"to\":"
          "\"0xaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaB\",\"data\":\"0x\",\"nonce\":1}}"),
      EVM(",\"transaction_response\":{\"request_id\":\"1\",\"transaction_hash\":\"0x00\"}")},
     "error /messages/0/content/0 AITP-14\nerror /messages/0/content/0 AITP-14\nerror /messages/1/content/0 AITP-14\n",
     "answered 1\n"},
    {{EVM(",\"request_message_signing\":{\"request_id\":\"1\",\"signing_type\":\"personal_sign\",\"message\":\"m\"}"),
      EVM(",\"message_signing_response\":{\"request_id\":\"1\",\"address\":"
          "\"0xaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaB\",\"signature\":\"0xff\"}")},
     "",
     "answered 1\n"},
    {{EVM(",\"request_message_signing\":{\"request_id\":\"1\",\"signing_type\":\"personal_sign\"}")},
     "error /messages/0/content/0 AITP-14\n",
     "open 1\n"},
    {{EVM(",\"request_message_signing\":{\"request_id\":\"1\",\"signing_type\":\"typed_data\",\"typed_data\":{"
          "\"types\":{},\"primaryType\":\"p\",\"domain\":{},\"message\":{}}}")},
     "",
     "open 1\n"},
    {{EVM(",\"request_message_signing\":{\"request_id\":\"1\",\"signing_type\":\"typed_data\"}")},
     "error /messages/0/content/0 AITP-14\n",
     "open 1\n"},
    {{EVM(",\"chain_notification\":{\"notification_id\":\"1\",\"chain_id\":1,\"native_currency\":{\"name\":\"n\","
          "\"symbol\":\"s\",\"decimals\":18}}")},
     "",
     ""},
    {{EVM(
         ",\"token_notification\":{\"notification_id\":\"1\",\"chain_id\":1,\"token_type\":\"erc20\",\"token_"
         "contract\":\"0xaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaB\",\"name\":\"n\",\"symbol\":\"s\",\"decimals\":18}")},
     "",
     ""},
    {{EVM(",\"token_notification\":{\"notification_id\":\"1\",\"chain_id\":1,\"token_type\":\"erc20\",\"token_"
          "contract\":\"0xaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaB\",\"name\":\"n\",\"symbol\":\"s\"}")},
     "error /messages/0/content/0 AITP-14\n",
     ""},
    {{"hello", "{\"$schema\"", "{\"$schema\":7}",
      "{\"$schema\":\"https://example.org/capabilities/chess/v2.0.0/schema.json\",\"move\":1}"},
     "error /messages/2/content/0 AITP-7\n",
     ""},
    {{"{\"$schema\":\"https://aitp.dev/capabilities/aitp-02-decisions/v2.0.0/schema.json\",\"decision\":7}"}, "", ""},
};

static void begin(struct wj_writer *w, struct wb_buf *out, const char *parent)
{
    wj_writer_init(w, out, NULL);
    wb_buf_addf(out, "{\"id\":\"t\",\"metadata\":{\"parent_id\":%s,\"actors\":[", parent);
    for (int i = 0; i < 2; i++) {
        wb_buf_addf(out, "%s{\"id\":\"%s\",\"capabilities\":[", i ? "," : "", i ? "b" : "a");
        for (size_t k = 0; k < WB_LEN(names); k++)
            wb_buf_addf(out, "%s{\"schema\":\"https://aitp.dev/capabilities/%s/v1.%d.0/schema.json\"}", k ? "," : "",
                        names[k], i);
        wb_buf_add(out, UPP_STR("]}"));
    }
    wb_buf_add(out, UPP_STR("]},\"messages\":["));
}

/* The first is of the user, all others by turns; a minute between any two. */
static void add(struct wj_writer *w, struct wb_buf *out, unsigned i, struct upp_str text)
{
    wb_buf_addf(
        out, "%s{\"created_at\":%u,\"thread_id\":\"t\",\"role\":\"%s\",\"metadata\":{\"actor\":\"%s\"},\"content\":[",
        i ? "," : "", 1767225600 + 60 * i, i % 2 ? "assistant" : "user", i % 2 ? "b" : "a");
    w->comma = false;
    wj_write_str(w, text);
    wb_buf_add(out, UPP_STR("]}"));
}

static int problems_of(struct upp_str text, struct wb_buf *out, size_t *errors, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    const struct wd_document_ops *ops;
    int r = wd_document_validate(&wd_document_aitp, text, &a, &p, &ops, err);
    for (size_t i = 0; r >= 0 && i < p.list.n; i++)
        wb_buf_addf(out, "%s %.*s %s\n", p.list.p[i].severity == WD_ERROR ? "error" : "warning",
                    UPP_FMT(p.list.p[i].pointer), p.list.p[i].rule);
    if (errors)
        *errors = p.errors;
    return r < 0 ? r : wb_buf_check(out, err);
}

static int states_of(struct upp_str text, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_aitp_exchanges_done) struct wd_aitp_exchanges x = {.a = WB_ARENA(ROOM)};
    yyjson_val *root;
    int r = wj_read(&a, text, UPP_OPTS(wj_read_opts, .max_bytes = ROOM), &root, err);
    if (r >= 0)
        r = wd_aitp_follow(&x, root, NULL, err);
    for (size_t i = 0; r >= 0 && i < x.list.n; i++)
        wb_buf_addf(out, "%s %.*s\n", wd_aitp_state_name(x.list.p[i].state), UPP_FMT(x.list.p[i].id));
    return r < 0 ? r : wb_buf_check(out, err);
}

/* covers: AITP-7/1/2, AITP-8/1/2/3, AITP-14/2/3 */
TEST(dialect_aitp_follows_requests)
{
    for (size_t i = 0; i < WB_LEN(threads); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM), problems = WB_BUF(ROOM), states = WB_BUF(ROOM);
        WB_CLEANUP(wb_buf_done) struct wb_buf same = WB_BUF(ROOM);
        struct upp_err err = {0};
        struct wj_writer w;
        begin(&w, &text, "null");
        for (unsigned k = 0; k < 6 && threads[i].messages[k]; k++)
            add(&w, &text, k, wb_cstr(threads[i].messages[k]));
        wb_buf_add(&text, UPP_STR("]}"));
        CHECK(wj_writer_check(&w) == 0);
        test_note("%u: %.*s", (unsigned)i, UPP_FMT(wb_buf_str(&text)));
        CHECK(problems_of(wb_buf_str(&text), &problems, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&problems), wb_cstr(threads[i].problems));
        CHECK(states_of(wb_buf_str(&text), &states, &err) == 0);
        CHECK_STR(wb_buf_str(&states), wb_cstr(threads[i].states));
        if (i % 8)
            continue; /* all go the same way */
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        CHECK(wd_document_read(&d, NULL, wb_buf_str(&text), NULL, &err) == 0);
        CHECK(wd_document_write(&d, &wd_document_aitp, NULL, &same, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&same), wb_buf_str(&text));
    }
}

/* covers: AITP-11/1 */
TEST(dialect_aitp_seed_is_valid)
{
    size_t n = 0, errors = 1;
    WB_CLEANUP(freep) char *text = test_read("golden/aitp/seed.json", &n);
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM), states = WB_BUF(ROOM);
    struct upp_err err;
    CHECK(text != NULL);
    CHECK(problems_of(wb_str(text, n), &out, &errors, &err) == 0);
    CHECK(errors == 0);
    CHECK_STR(wb_buf_str(&out),
              UPP_STR("warning /messages/1/content/0 AITP-6\nwarning /messages/2/content/0 AITP-6\n"));
    CHECK(states_of(wb_str(text, n), &states, &err) == 0);
    CHECK_STR(wb_buf_str(&states), UPP_STR("decided flight_options\n"));
}

/* What was asked may stand in the thread that this one was forked off. */
TEST(dialect_aitp_fork_may_answer_its_parent)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM), out = WB_BUF(ROOM);
    struct upp_err err;
    struct wj_writer w;
    begin(&w, &text, "\"p\"");
    add(&w, &text, 0, UPP_STR(DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\"}],\"request_decision_id\":\"r\"}")));
    wb_buf_add(&text, UPP_STR("]}"));
    CHECK(wj_writer_check(&w) == 0);
    CHECK(problems_of(wb_buf_str(&text), &out, NULL, &err) == 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("warning /messages/0/content/0 AITP-8\n"));
}

/* ---- One message ----------------------------------------------------------------------------- */

static const struct {
    const char *message, *strict, *lenient;
} alone[] = {
    {NEAR(",\"request_account\":{\"request_id\":\"1\"}"), "", ""},
    {NEAR(",\"request_account\":{\"request_id\":\"1\",\"x\":1}"), "error /request_account/x AITP-14\n",
     "warning /request_account/x AITP-14\n"},
    {NEAR(",\"request_account\":{\"request_id\":\"1\"},\"x\":1"), "error /x AITP-14\n", "warning /x AITP-14\n"},
    {NEAR(",\"request_account\":{}"), "error /request_account AITP-14\n", "error /request_account AITP-14\n"},
    {DECISIONS(",\"request_more\":{}"), "error  AITP-8\n", "warning  AITP-8\n"},
    {DECISIONS(",\"decision\":{\"options\":[{\"id\":\"a\",\"x\":1}],\"y\":2}"), "error /decision/options/0/x AITP-8\n",
     "warning /decision/options/0/x AITP-8\n"},
    {DATA(",\"request_data\":{\"id\":\"1\",\"description\":\"\",\"form\":{}}"), "error /request_data/form AITP-14\n",
     "warning /request_data/form AITP-14\n"},
    {"{}", "error  AITP-7\n", "error  AITP-7\n"},
    {"{\"$schema\":null}", "error /$schema AITP-7\n", "error /$schema AITP-7\n"},
    {"{\"$schema\":\"https://example.org/x\"}", "", ""},
};

/* covers: AITP-14/1/2 */
TEST(dialect_aitp_checks_one_message)
{
    for (size_t i = 0; i < 2 * WB_LEN(alone); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(wd_problems_done) struct wd_problems p = {.a = &a};
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        struct upp_err err;
        bool strict = i % 2;
        CHECK(wj_read(&a, wb_cstr(alone[i / 2].message), NULL, &p.root, &err) == 0);
        test_note("%s", alone[i / 2].message);
        int errors = wd_aitp_check(p.root, strict, &p);
        CHECK_INT(errors, p.errors);
        CHECK(!p.failed);
        for (size_t k = 0; k < p.list.n; k++)
            wb_buf_addf(&out, "%s %.*s %s\n", p.list.p[k].severity == WD_ERROR ? "error" : "warning",
                        UPP_FMT(p.list.p[k].pointer), p.list.p[k].rule);
        CHECK(!out.failed);
        CHECK_STR(wb_buf_str(&out), wb_cstr(strict ? alone[i / 2].strict : alone[i / 2].lenient));
    }
}

TEST(dialect_aitp_reads_addresses_of_schemas)
{
    static const struct {
        const char *url;
        int capability; /* -1: it is no address of one */
    } urls[] = {
        {"https://aitp.dev/capabilities/aitp-01-payments/v1.0.0/schema.json", WD_AITP_PAYMENTS},
        {"https://aitp.dev/capabilities/aitp-01-payments/v0.1.0/schema.json", WD_AITP_PAYMENTS},
        {"https://elsewhere.example/a/capabilities/aitp-05-evm-wallet/v1.22.3/schema.json", WD_AITP_EVM_WALLET},
        {"https://aitp.dev/capabilities/aitp-01-payments/v2.0.0/schema.json", WD_AITP_UNKNOWN},
        {"https://aitp.dev/capabilities/aitp-09-fiat/v1.0.0/schema.json", WD_AITP_UNKNOWN},
        {"https://aitp.dev/capabilities/aitp-01-payments/v1.0/schema.json", -1},
        {"https://aitp.dev/capabilities/aitp-01-payments/1.0.0/schema.json", -1},
        {"https://aitp.dev/capabilities/aitp-01-payments/v1.0.0/schema.jsonx", -1},
        {"https://aitp.dev/capabilities/aitp-01-payments/v1.0.0", -1},
        {"https://aitp.dev/capabilities//v1.0.0/schema.json", -1},
        {"/capabilities/", -1},
        {"", -1},
    };
    for (size_t i = 0; i < WB_LEN(urls); i++) {
        struct wd_aitp_schema s;
        test_note("%s", urls[i].url);
        CHECK(wd_aitp_schema_parse(wb_cstr(urls[i].url), &s) == (urls[i].capability >= 0));
        CHECK_INT(wd_aitp_capability(wb_cstr(urls[i].url)), WB_MAX(urls[i].capability, 0));
    }
}

/* ---- Rules of threads ------------------------------------------------------------------------ */

#define THREAD(metadata, message) "{\"id\":\"t\",\"metadata\":{" metadata "},\"messages\":[" message "]}"
#define ACTORS(actors)            THREAD("\"actors\":[" actors "]", "")
#define SAID(members)                                                                                                  \
    THREAD("\"actors\":[{\"id\":\"a\",\"capabilities\":[]},{\"id\":\"b\",\"capabilities\":[]}]", "{" members "}")
#define GOOD "\"created_at\":1,\"thread_id\":\"t\",\"content\":[],\"role\":\"user\",\"metadata\":{\"actor\":\"a\"}"
#define BUT(created, thread, content, role, metadata)                                                                  \
    SAID("\"created_at\":" created ",\"thread_id\":" thread ",\"content\":" content ",\"role\":" role                  \
         ",\"metadata\":" metadata)
#define M "/messages/0"

static const struct {
    const char *document, *problems;
} rules[] = {
    {"[]", "error  AITP-1\n"},
    {"{\"metadata\":{\"actors\":[]},\"messages\":[]}", "error  AITP-1\n"},
    {"{\"id\":1,\"metadata\":{\"actors\":[]},\"messages\":[]}", "error /id AITP-1\n"},
    {"{\"id\":\"t\",\"metadata\":{\"actors\":[]}}", "error  AITP-1\n"},
    {"{\"id\":\"t\",\"metadata\":{\"actors\":[]},\"messages\":{}}", "error /messages AITP-1\n"},
    {"{\"id\":\"t\",\"metadata\":7,\"messages\":[]}", "error /metadata AITP-1\nwarning /metadata AITP-1\n"},
    {"{\"id\":\"t\",\"messages\":[]}", "warning  AITP-1\n"},
    {THREAD("\"actors\":{}", ""), "error /metadata/actors AITP-1\n"},
    {THREAD("\"actors\":[],\"parent_id\":7", ""), "error /metadata/parent_id AITP-1\n"},
    {THREAD("\"actors\":[],\"parent_id\":\"t\"", ""), "error /metadata/parent_id AITP-9\n"},
    {THREAD("\"actors\":[],\"parent_id\":null", ""), ""},
    {"{\"id\":\"t\",\"parent_id\":null,\"actors\":[],\"messages\":[]}",
     "warning /actors AITP-12\nwarning /parent_id AITP-12\n"},
    {ACTORS("7"), "error /metadata/actors/0 AITP-4\n"},
    {ACTORS("{\"id\":7}"), "error /metadata/actors/0/id AITP-4\n"},
    {ACTORS("{\"id\":\"a\"}"), "warning /metadata/actors/0 AITP-6\n"},
    {ACTORS("{\"id\":\"a\",\"capabilities\":[]},{\"id\":\"a\",\"capabilities\":[]}"),
     "error /metadata/actors/1/id AITP-4\n"},
    {ACTORS("{\"id\":\"a\",\"capabilities\":{}}"), "error /metadata/actors/0/capabilities AITP-6\n"},
    {ACTORS("{\"id\":\"a\",\"capabilities\":[{}]}"), "error /metadata/actors/0/capabilities/0 AITP-6\n"},
    {ACTORS("{\"id\":\"a\",\"capabilities\":[{\"schema\":1}]}"),
     "error /metadata/actors/0/capabilities/0/schema AITP-6\n"},
    {ACTORS("{\"id\":\"a\",\"capabilities\":[{\"schema\":\"x\"}]}"),
     "warning /metadata/actors/0/capabilities/0/schema AITP-6\n"},
    {ACTORS("{\"id\":\"a\",\"capabilities\":[\"https://x.y/capabilities/z/v1.0.0/schema.json\"]}"),
     "warning /metadata/actors/0/capabilities/0 AITP-12\n"},
    {SAID(GOOD), ""},
    {THREAD("\"actors\":[]", "7"), "error " M " AITP-2\n"},
    {BUT("\"now\"", "\"t\"", "[]", "\"user\"", "{\"actor\":\"a\"}"), "error " M "/created_at AITP-2\n"},
    {BUT("1.5", "\"t\"", "[]", "\"user\"", "{\"actor\":\"a\"}"), "error " M "/created_at AITP-2\n"},
    {BUT("1", "null", "[]", "\"user\"", "{\"actor\":\"a\"}"), "error " M "/thread_id AITP-2\n"},
    {BUT("1", "\"u\"", "[]", "\"user\"", "{\"actor\":\"a\"}"), "warning " M "/thread_id AITP-2\n"},
    {BUT("1", "\"t\"", "\"x\"", "\"user\"", "{\"actor\":\"a\"}"), "warning " M "/content AITP-2\n"},
    {BUT("1", "\"t\"", "7", "\"user\"", "{\"actor\":\"a\"}"), "error " M "/content AITP-2\n"},
    {BUT("1", "\"t\"", "[7]", "\"user\"", "{\"actor\":\"a\"}"), "error " M "/content/0 AITP-2\n"},
    {BUT("1", "\"t\"", "[{\"type\":\"text\",\"text\":\"x\"}]", "\"user\"", "{\"actor\":\"a\"}"),
     "warning " M "/content/0 AITP-2\n"},
    {BUT("1", "\"t\"", "[]", "\"system\"", "{\"actor\":\"a\"}"), "error " M "/role AITP-2\n"},
    {BUT("1", "\"t\"", "[]", "\"user\"", "7"), "error " M "/metadata AITP-2\nwarning " M " AITP-2\n"},
    {BUT("1", "\"t\"", "[]", "\"user\"", "{\"actor\":7}"), "error " M "/metadata/actor AITP-2\nwarning " M " AITP-2\n"},
    {BUT("1", "\"t\"", "[]", "\"user\"", "{}"), "warning " M " AITP-2\n"},
    {BUT("1", "\"t\"", "[]", "\"user\"", "{\"actor\":\"z\"}"), "warning " M "/metadata/actor AITP-4\n"},
    {BUT("1", "\"t\"", "[]", "\"user\"", "{},\"actor\":\"a\""), "warning " M "/actor AITP-12\n"},
    {BUT("1", "\"t\"", "[\"\\ud800\"]", "\"user\"", "{\"actor\":\"a\"}"), "error " M "/content/0 AITP-2\n"},
    {SAID(GOOD ",\"attachments\":{}"), "error " M "/attachments AITP-2\n"},
    {SAID(GOOD ",\"attachments\":[{\"file_id\":\"f\"},{}]"), "error " M "/attachments/1 AITP-2\n"},
    {SAID(GOOD
          "},{\"created_at\":1,\"thread_id\":\"t\",\"content\":[],\"role\":\"user\",\"metadata\":{\"actor\":\"b\"}"),
     "warning /messages/1/role AITP-3\n"},
    {SAID(GOOD "},{\"created_at\":1,\"thread_id\":\"t\",\"content\":[],\"role\":\"assistant\",\"metadata\":{\"actor\":"
               "\"a\"}"),
     "warning /messages/1/role AITP-3\n"},
};

/* covers: AITP-1, AITP-2, AITP-4, AITP-12/2/3 */
TEST(dialect_aitp_rules)
{
    for (size_t i = 0; i < WB_LEN(rules); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        struct upp_err err;
        test_note("%s", rules[i].document);
        CHECK(problems_of(wb_cstr(rules[i].document), &out, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&out), wb_cstr(rules[i].problems));
    }
}

/* ---- Limits ---------------------------------------------------------------------------------- */

TEST_WITH(dialect_aitp_follows_so_many_requests, .no_torture = "thousands of messages")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM), out = WB_BUF(ROOM);
    struct upp_err err;
    struct wj_writer w;
    char message[256];
    unsigned i;
    begin(&w, &text, "null");
    for (i = 0; i < WD_AITP_EXCHANGES + 2; i++) {
        (void)snprintf(message, sizeof message, NEAR(",\"request_account\":{\"request_id\":\"%u\"}"), i);
        add(&w, &text, i, wb_cstr(message));
    }
    add(&w, &text, i, UPP_STR(NEAR(",\"account_response\":{\"request_id\":\"4097\",\"accounts\":[]}")));
    wb_buf_add(&text, UPP_STR("]}"));
    CHECK(wj_writer_check(&w) == 0);
    CHECK(problems_of(wb_buf_str(&text), &out, NULL, &err) == 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("warning /messages/4096/content/0 AITP-14\n"));
}

TEST_WITH(dialect_aitp_compares_so_many_options, .no_torture = "thousands of options")
{
    WB_CLEANUP(wb_buf_done)
    struct wb_buf text = WB_BUF(ROOM), out = WB_BUF(ROOM), ask = WB_BUF(ROOM), say = WB_BUF(ROOM);
    struct upp_err err;
    struct wj_writer w;
    wb_buf_add(&ask, UPP_STR("{\"$schema\":\"https://aitp.dev/capabilities/aitp-02-decisions/v1.0.0/schema.json\","
                             "\"request_decision\":{\"id\":\"r\",\"type\":\"checkbox\",\"options\":["));
    wb_buf_add(&say, UPP_STR("{\"$schema\":\"https://aitp.dev/capabilities/aitp-02-decisions/v1.0.0/schema.json\","
                             "\"decision\":{\"request_decision_id\":\"r\",\"options\":["));
    for (int i = 0; i < 2000; i++) {
        wb_buf_addf(&ask, "%s{\"id\":\"%d\"}", i ? "," : "", i);
        wb_buf_addf(&say, "%s{\"id\":\"1999\"}", i ? "," : "");
    }
    wb_buf_add(&ask, UPP_STR("]}}"));
    wb_buf_add(&say, UPP_STR("]}}"));
    begin(&w, &text, "null");
    add(&w, &text, 0, wb_buf_str(&ask));
    add(&w, &text, 1, wb_buf_str(&say));
    wb_buf_add(&text, UPP_STR("]}"));
    CHECK(wj_writer_check(&w) == 0);
    CHECK(problems_of(wb_buf_str(&text), &out, NULL, &err) == 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("warning /messages/1/content/0 AITP-8\n"));
}

TEST_WITH(dialect_aitp_compares_all_actors_and_speakers, .no_torture = "thousands of actors")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM), out = WB_BUF(ROOM);
    struct upp_err err;
    wb_buf_add(&text, UPP_STR("{\"id\":\"t\",\"messages\":["));
    for (int i = 0; i < 5001; i++) /* the last speaker is none of the actors */
        wb_buf_addf(&text,
                    "%s{\"created_at\":1,\"thread_id\":\"t\",\"role\":\"%s\",\"content\":[\"a\"],"
                    "\"metadata\":{\"actor\":\"%d\"}}",
                    i ? "," : "", i ? "assistant" : "user", i);
    wb_buf_add(&text, UPP_STR("],\"metadata\":{\"actors\":["));
    for (int i = 0; i < 5001; i++) /* the last one has the id of the one before it */
        wb_buf_addf(&text, "%s{\"id\":\"%d\",\"capabilities\":[]}", i ? "," : "", WB_MIN(i, 4999));
    wb_buf_add(&text, UPP_STR("]}}"));
    CHECK(problems_of(wb_buf_str(&text), &out, NULL, &err) == 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("error /metadata/actors/5000/id AITP-4\n"
                                        "warning /messages/5000/metadata/actor AITP-4\n"));
}
