/* dialects/aitp/shapes.c — the members of AITP's structured messages, and which of them are required.
 *
 * Payments and wallets are closed: their schemas reject unknown members. Decisions and data requests are open, except
 * the options that were chosen.
 */
#include "dialects/aitp/capabilities.h"

#define SHAPE(name_, closed_, ...)                                                                                     \
    static const struct wd_aitp_member name_##_members[] = {__VA_ARGS__, {NULL, 0, 0, NULL}};                          \
    static const struct wd_aitp_shape name_ = {name_##_members, (closed_)}
#define CLOSED(name_, ...) SHAPE(name_, true, __VA_ARGS__)
#define OPEN(name_, ...)   SHAPE(name_, false, __VA_ARGS__)

static const char *const method_types[] = {"near_payment_channel", NULL};
static const char *const affiliate_roles[] = {"personal_assistant", "discovery", "service", "other", NULL};
static const char *const results[] = {"success", "failure", "pending", NULL};
CLOSED(method, {"type", WD_AITP_WORD, WD_AITP_MUST, method_types}, {"token", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"recipient", WD_AITP_TEXT, WD_AITP_MUST, NULL});
CLOSED(payment_option, {"amount", WD_AITP_AMOUNT, 0, NULL}, {"currency", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"payment_methods", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST, &method});
CLOSED(affiliate, {"id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"role", WD_AITP_WORD, WD_AITP_MUST, affiliate_roles},
       {"weight", WD_AITP_WEIGHT, 0, NULL});
CLOSED(revenue_share, {"affiliate_share_bps", WD_AITP_WHOLE, WD_AITP_MUST, NULL},
       {"affiliates", WD_AITP_OBJECT, WD_AITP_LIST, &affiliate});
CLOSED(quote, {"quote_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"merchant_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"description", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"payment_options", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST, &payment_option},
       {"merchant_signature", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"expiration", WD_AITP_TIME, 0, NULL},
       {"next_recipient", WD_AITP_TEXT, 0, NULL}, {"revenue_share", WD_AITP_OBJECT, 0, &revenue_share});
CLOSED(wrapper, {"affiliate_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"role", WD_AITP_WORD, WD_AITP_MUST, affiliate_roles}, {"next_recipient", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"timestamp", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"signature", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"added_affiliates", WD_AITP_OBJECT, WD_AITP_LIST, &affiliate});
CLOSED(wrapped_quote, {"original_quote", WD_AITP_OBJECT, WD_AITP_MUST, &quote},
       {"wrappers", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST, &wrapper});
CLOSED(payment_method, {"type", WD_AITP_WORD, WD_AITP_MUST, method_types}, {"token", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"channel_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"currency", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"amount", WD_AITP_AMOUNT, 0, NULL});
CLOSED(payment, {"quote_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"payment_method", WD_AITP_OBJECT, WD_AITP_MUST, &payment_method},
       {"payer_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"timestamp", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"payer_signature", WD_AITP_TEXT, WD_AITP_MUST, NULL});
CLOSED(detail, {"label", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"value", WD_AITP_VALUE, WD_AITP_MUST, NULL},
       {"url", WD_AITP_TEXT, 0, NULL});
CLOSED(payment_confirmation, {"quote_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"payment_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"result", WD_AITP_WORD, WD_AITP_MUST, results},
       {"timestamp", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"merchant_signature", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"message", WD_AITP_TEXT, 0, NULL}, {"details", WD_AITP_OBJECT, WD_AITP_LIST, &detail});
CLOSED(top_up_request, {"channel_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"currency", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"merchant_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"timestamp", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"merchant_signature", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"amount", WD_AITP_AMOUNT, 0, NULL},
       {"reason", WD_AITP_TEXT, 0, NULL});
CLOSED(top_up_response, {"channel_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"amount", WD_AITP_AMOUNT, WD_AITP_MUST, NULL}, {"currency", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"payer_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"timestamp", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"payer_signature", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"new_balance", WD_AITP_AMOUNT, 0, NULL});

static const char *const decision_types[] = {"products", "checkbox", "radio", "confirmation", NULL};
static const char *const option_quote_types[] = {"Quote", NULL};
static const char *const plan_types[] = {"one-time", NULL};
static const char *const plan_currencies[] = {"USD", NULL};
OPEN(plan, {"plan_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"plan_type", WD_AITP_WORD, WD_AITP_MUST, plan_types},
     {"amount", WD_AITP_NUMBER, WD_AITP_MUST, NULL}, {"currency", WD_AITP_WORD, WD_AITP_MUST, plan_currencies});
OPEN(option_quote, {"type", WD_AITP_WORD, WD_AITP_MUST, option_quote_types},
     {"quote_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"payee_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
     {"payment_plans", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST, &plan},
     {"valid_until", WD_AITP_TIME, WD_AITP_MUST, NULL});
OPEN(variant, {"id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"name", WD_AITP_TEXT, 0, NULL},
     {"short_variant_name", WD_AITP_TEXT, 0, NULL}, {"image_url", WD_AITP_TEXT, 0, NULL},
     {"description", WD_AITP_TEXT, 0, NULL}, {"quote", WD_AITP_OBJECT, 0, &option_quote},
     {"reviews_count", WD_AITP_WHOLE, 0, NULL}, {"five_star_rating", WD_AITP_RATING, 0, NULL},
     {"url", WD_AITP_TEXT, 0, NULL});
OPEN(option, {"id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"name", WD_AITP_TEXT, 0, NULL},
     {"short_variant_name", WD_AITP_TEXT, 0, NULL}, {"image_url", WD_AITP_TEXT, 0, NULL},
     {"description", WD_AITP_TEXT, 0, NULL}, {"quote", WD_AITP_OBJECT, 0, &option_quote},
     {"reviews_count", WD_AITP_WHOLE, 0, NULL}, {"five_star_rating", WD_AITP_RATING, 0, NULL},
     {"url", WD_AITP_TEXT, 0, NULL}, {"variants", WD_AITP_OBJECT, WD_AITP_LIST, &variant});
OPEN(request_decision, {"id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
     {"options", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST | WD_AITP_SOME, &option}, {"title", WD_AITP_TEXT, 0, NULL},
     {"description", WD_AITP_TEXT, 0, NULL}, {"type", WD_AITP_WORD, 0, decision_types});
CLOSED(chosen, {"id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"name", WD_AITP_TEXT, 0, NULL},
       {"quantity", WD_AITP_NUMBER, 0, NULL});
OPEN(decision, {"options", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST | WD_AITP_SOME, &chosen},
     {"request_decision_id", WD_AITP_TEXT, 0, NULL});

static const char *const field_types[] = {"text", "number", "email", "textarea", "select", "combobox", "tel", NULL};
OPEN(field, {"id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"label", WD_AITP_TEXT, 0, NULL},
     {"description", WD_AITP_TEXT, 0, NULL}, {"default_value", WD_AITP_TEXT, 0, NULL},
     {"type", WD_AITP_WORD, 0, field_types}, {"options", WD_AITP_TEXT, WD_AITP_LIST, NULL},
     {"required", WD_AITP_BOOL, 0, NULL}, {"autocomplete", WD_AITP_TEXT, 0, NULL});
OPEN(form, {"fields", WD_AITP_OBJECT, WD_AITP_LIST | WD_AITP_SOME, &field}, {"json_url", WD_AITP_TEXT, 0, NULL});
OPEN(request_data, {"id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"description", WD_AITP_TEXT, WD_AITP_MUST, NULL},
     {"form", WD_AITP_OBJECT, WD_AITP_MUST, &form}, {"title", WD_AITP_TEXT, 0, NULL},
     {"fillButtonLabel", WD_AITP_TEXT, 0, NULL});
OPEN(datum, {"id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"label", WD_AITP_TEXT, 0, NULL},
     {"value", WD_AITP_TEXT, 0, NULL});
OPEN(data, {"fields", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST | WD_AITP_SOME, &datum},
     {"request_data_id", WD_AITP_TEXT, 0, NULL});

static const char *const near_actions[] = {"CreateAccount", "DeployContract", "FunctionCall",  "Transfer", "Stake",
                                           "AddKey",        "DeleteKey",      "DeleteAccount", NULL};
static const char *const near_tokens[] = {"nep141", NULL};
CLOSED(request_account, {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"description", WD_AITP_TEXT, 0, NULL});
CLOSED(account_response, {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"accounts", WD_AITP_TEXT, WD_AITP_MUST | WD_AITP_LIST, NULL});
CLOSED(near_action, {"type", WD_AITP_WORD, WD_AITP_MUST, near_actions}, {"params", WD_AITP_ANY, WD_AITP_MUST, NULL});
CLOSED(near_transaction, {"receiver_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"actions", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST, &near_action});
CLOSED(near_request_transaction, {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"transaction", WD_AITP_OBJECT, WD_AITP_MUST, &near_transaction}, {"description", WD_AITP_TEXT, 0, NULL});
CLOSED(near_transaction_response, {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"transaction_hash", WD_AITP_TEXT, WD_AITP_MUST, NULL});
CLOSED(near_message, {"nonce", WD_AITP_NONCE, WD_AITP_MUST, NULL}, {"recipient", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"message", WD_AITP_TEXT, WD_AITP_MUST, NULL});
CLOSED(near_request_signing, {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"message", WD_AITP_OBJECT, WD_AITP_MUST, &near_message}, {"description", WD_AITP_TEXT, 0, NULL},
       {"state", WD_AITP_TEXT, 0, NULL});
CLOSED(near_signing_response, {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"account_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"public_key", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"signature", WD_AITP_TEXT, WD_AITP_MUST, NULL});
CLOSED(near_token, {"notification_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"token_type", WD_AITP_WORD, WD_AITP_MUST, near_tokens}, {"token_contract", WD_AITP_TEXT, WD_AITP_MUST, NULL});

static const char *const evm_tokens[] = {"erc20", NULL};
static const char *const signing_types[] = {"personal_sign", "typed_data", NULL};
CLOSED(request_address, {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"description", WD_AITP_TEXT, 0, NULL},
       {"chain_id", WD_AITP_WHOLE, 0, NULL});
CLOSED(address_response, {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"addresses", WD_AITP_ADDRESS, WD_AITP_MUST | WD_AITP_LIST, NULL});
CLOSED(access, {"address", WD_AITP_ADDRESS, WD_AITP_MUST, NULL},
       {"storageKeys", WD_AITP_HASH, WD_AITP_MUST | WD_AITP_LIST, NULL});
CLOSED(evm_transaction, {"to", WD_AITP_ADDRESS, WD_AITP_MUST, NULL}, {"from", WD_AITP_ADDRESS, 0, NULL},
       {"data", WD_AITP_HEX, WD_AITP_MUST, NULL}, {"value", WD_AITP_HEX, 0, NULL}, {"gas", WD_AITP_HEX, 0, NULL},
       {"gasPrice", WD_AITP_HEX, 0, NULL}, {"maxFeePerGas", WD_AITP_HEX, 0, NULL},
       {"maxPriorityFeePerGas", WD_AITP_HEX, 0, NULL}, {"nonce", WD_AITP_HEX, 0, NULL},
       {"accessList", WD_AITP_OBJECT, WD_AITP_LIST, &access});
CLOSED(evm_request_transaction, {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"transaction", WD_AITP_OBJECT, WD_AITP_MUST, &evm_transaction}, {"chain_id", WD_AITP_WHOLE, 0, NULL},
       {"description", WD_AITP_TEXT, 0, NULL});
CLOSED(evm_transaction_response, {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"transaction_hash", WD_AITP_HASH, WD_AITP_MUST, NULL});
CLOSED(typed_data, {"types", WD_AITP_ANY, WD_AITP_MUST, NULL}, {"primaryType", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"domain", WD_AITP_ANY, WD_AITP_MUST, NULL}, {"message", WD_AITP_ANY, WD_AITP_MUST, NULL});
CLOSED(evm_request_signing, {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"signing_type", WD_AITP_WORD, WD_AITP_MUST, signing_types}, {"message", WD_AITP_TEXT, 0, NULL},
       {"typed_data", WD_AITP_OBJECT, 0, &typed_data}, {"address", WD_AITP_ADDRESS, 0, NULL},
       {"description", WD_AITP_TEXT, 0, NULL});
CLOSED(evm_signing_response, {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"address", WD_AITP_ADDRESS, WD_AITP_MUST, NULL}, {"signature", WD_AITP_HEX, WD_AITP_MUST, NULL});
CLOSED(currency, {"name", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"symbol", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"decimals", WD_AITP_WHOLE, WD_AITP_MUST, NULL});
CLOSED(chain, {"notification_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"chain_id", WD_AITP_WHOLE, WD_AITP_MUST, NULL},
       {"name", WD_AITP_TEXT, 0, NULL}, {"rpc_url", WD_AITP_TEXT, 0, NULL},
       {"native_currency", WD_AITP_OBJECT, 0, &currency});
CLOSED(evm_token, {"notification_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"chain_id", WD_AITP_WHOLE, WD_AITP_MUST, NULL}, {"token_type", WD_AITP_WORD, WD_AITP_MUST, evm_tokens},
       {"token_contract", WD_AITP_ADDRESS, WD_AITP_MUST, NULL}, {"name", WD_AITP_TEXT, WD_AITP_MUST, NULL},
       {"symbol", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"decimals", WD_AITP_WHOLE, WD_AITP_MUST, NULL},
       {"icon_url", WD_AITP_TEXT, 0, NULL});

const struct wd_aitp_kind wd_aitp_kinds[] = {
    {WD_AITP_PAYMENTS, WD_AITP_QUOTES, "quote", "quote_id", NULL, &quote},
    {WD_AITP_PAYMENTS, WD_AITP_WRAPS, "wrapped_quote", "quote_id", NULL, &wrapped_quote},
    {WD_AITP_PAYMENTS, WD_AITP_PAYS, "payment", "quote_id", "quote", &payment},
    {WD_AITP_PAYMENTS, WD_AITP_CONFIRMS, "payment_confirmation", "quote_id", "quote", &payment_confirmation},
    {WD_AITP_PAYMENTS, WD_AITP_ASKS, "top_up_request", "channel_id", NULL, &top_up_request},
    {WD_AITP_PAYMENTS, WD_AITP_REPLIES, "top_up_response", "channel_id", "top_up_request", &top_up_response},
    {WD_AITP_DECISIONS, WD_AITP_ASKS, "request_decision", "id", NULL, &request_decision},
    {WD_AITP_DECISIONS, WD_AITP_REPLIES, "decision", "request_decision_id", "request_decision", &decision},
    {WD_AITP_DATA_REQUEST, WD_AITP_ASKS, "request_data", "id", NULL, &request_data},
    {WD_AITP_DATA_REQUEST, WD_AITP_REPLIES, "data", "request_data_id", "request_data", &data},
    {WD_AITP_NEAR_WALLET, WD_AITP_ASKS, "request_account", "request_id", NULL, &request_account},
    {WD_AITP_NEAR_WALLET, WD_AITP_REPLIES, "account_response", "request_id", "request_account", &account_response},
    {WD_AITP_NEAR_WALLET, WD_AITP_ASKS, "request_transaction", "request_id", NULL, &near_request_transaction},
    {WD_AITP_NEAR_WALLET, WD_AITP_REPLIES, "transaction_response", "request_id", "request_transaction",
     &near_transaction_response},
    {WD_AITP_NEAR_WALLET, WD_AITP_ASKS, "request_message_signing", "request_id", NULL, &near_request_signing},
    {WD_AITP_NEAR_WALLET, WD_AITP_REPLIES, "message_signing_response", "request_id", "request_message_signing",
     &near_signing_response},
    {WD_AITP_NEAR_WALLET, WD_AITP_TELLS, "token_notification", "notification_id", NULL, &near_token},
    {WD_AITP_EVM_WALLET, WD_AITP_ASKS, "request_address", "request_id", NULL, &request_address},
    {WD_AITP_EVM_WALLET, WD_AITP_REPLIES, "address_response", "request_id", "request_address", &address_response},
    {WD_AITP_EVM_WALLET, WD_AITP_ASKS, "request_transaction", "request_id", NULL, &evm_request_transaction},
    {WD_AITP_EVM_WALLET, WD_AITP_REPLIES, "transaction_response", "request_id", "request_transaction",
     &evm_transaction_response},
    {WD_AITP_EVM_WALLET, WD_AITP_ASKS, "request_message_signing", "request_id", NULL, &evm_request_signing},
    {WD_AITP_EVM_WALLET, WD_AITP_REPLIES, "message_signing_response", "request_id", "request_message_signing",
     &evm_signing_response},
    {WD_AITP_EVM_WALLET, WD_AITP_TELLS, "chain_notification", "notification_id", NULL, &chain},
    {WD_AITP_EVM_WALLET, WD_AITP_TELLS, "token_notification", "notification_id", NULL, &evm_token},
    {0, 0, NULL, NULL, NULL, NULL},
};
