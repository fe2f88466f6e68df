/* dialects/aitp/shapes.c — what the messages of AITP's five capabilities have, and which of them must be there.
 *
 * Payments and wallets are closed: their schemas refuse members that they do not know. Decisions and data requests are
 * open, but for the options that were chosen.
 */
#include "dialects/aitp/shapes.h"

#define END                                                                                                            \
    {                                                                                                                  \
        NULL, 0, 0, NULL                                                                                               \
    }

/* ---- Payments ------------------------------------------------------------------------------------------------ */

static const char *const           method_types[]    = {"near_payment_channel", NULL};
static const char *const           affiliate_roles[] = {"personal_assistant", "discovery", "service", "other", NULL};
static const char *const           results[]         = {"success", "failure", "pending", NULL};
static const struct wd_aitp_member method_members[]  = {{"type", WD_AITP_WORD, WD_AITP_MUST, method_types},
                                                        {"token", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                        {"recipient", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                        END};
static const struct wd_aitp_shape  method            = {method_members, true};
static const struct wd_aitp_member payment_option_members[] = {
    {"amount", WD_AITP_AMOUNT, 0, NULL},
    {"currency", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"payment_methods", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST, &method},
    END};
static const struct wd_aitp_shape  payment_option          = {payment_option_members, true};
static const struct wd_aitp_member affiliate_members[]     = {{"id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                              {"role", WD_AITP_WORD, WD_AITP_MUST, affiliate_roles},
                                                              {"weight", WD_AITP_WEIGHT, 0, NULL},
                                                              END};
static const struct wd_aitp_shape  affiliate               = {affiliate_members, true};
static const struct wd_aitp_member revenue_share_members[] = {
    {"affiliate_share_bps", WD_AITP_WHOLE, WD_AITP_MUST, NULL},
    {"affiliates", WD_AITP_OBJECT, WD_AITP_LIST, &affiliate},
    END};
static const struct wd_aitp_shape  revenue_share   = {revenue_share_members, true};
static const struct wd_aitp_member quote_members[] = {
    {"quote_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"merchant_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"description", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"payment_options", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST, &payment_option},
    {"merchant_signature", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"expiration", WD_AITP_TIME, 0, NULL},
    {"next_recipient", WD_AITP_TEXT, 0, NULL},
    {"revenue_share", WD_AITP_OBJECT, 0, &revenue_share},
    END};
static const struct wd_aitp_shape  quote                   = {quote_members, true};
static const struct wd_aitp_member wrapper_members[]       = {{"affiliate_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                              {"role", WD_AITP_WORD, WD_AITP_MUST, affiliate_roles},
                                                              {"next_recipient", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                              {"timestamp", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                              {"signature", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                              {"added_affiliates", WD_AITP_OBJECT, WD_AITP_LIST, &affiliate},
                                                              END};
static const struct wd_aitp_shape  wrapper                 = {wrapper_members, true};
static const struct wd_aitp_member wrapped_quote_members[] = {
    {"original_quote", WD_AITP_OBJECT, WD_AITP_MUST, &quote},
    {"wrappers", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST, &wrapper},
    END};
static const struct wd_aitp_shape  wrapped_quote            = {wrapped_quote_members, true};
static const struct wd_aitp_member payment_method_members[] = {{"type", WD_AITP_WORD, WD_AITP_MUST, method_types},
                                                               {"token", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                               {"channel_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                               {"currency", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                               {"amount", WD_AITP_AMOUNT, 0, NULL},
                                                               END};
static const struct wd_aitp_shape  payment_method           = {payment_method_members, true};
static const struct wd_aitp_member payment_members[]        = {
           {"quote_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
           {"payment_method", WD_AITP_OBJECT, WD_AITP_MUST, &payment_method},
           {"payer_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
           {"timestamp", WD_AITP_TEXT, WD_AITP_MUST, NULL},
           {"payer_signature", WD_AITP_TEXT, WD_AITP_MUST, NULL},
           END};
static const struct wd_aitp_shape  payment                        = {payment_members, true};
static const struct wd_aitp_member detail_members[]               = {{"label", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                     {"value", WD_AITP_VALUE, WD_AITP_MUST, NULL},
                                                                     {"url", WD_AITP_TEXT, 0, NULL},
                                                                     END};
static const struct wd_aitp_shape  detail                         = {detail_members, true};
static const struct wd_aitp_member payment_confirmation_members[] = {
    {"quote_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},           {"payment_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"result", WD_AITP_WORD, WD_AITP_MUST, results},          {"timestamp", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"merchant_signature", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"message", WD_AITP_TEXT, 0, NULL},
    {"details", WD_AITP_OBJECT, WD_AITP_LIST, &detail},       END};
static const struct wd_aitp_shape  payment_confirmation      = {payment_confirmation_members, true};
static const struct wd_aitp_member top_up_request_members[]  = {{"channel_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                {"currency", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                {"merchant_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                {"timestamp", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                {"merchant_signature", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                {"amount", WD_AITP_AMOUNT, 0, NULL},
                                                                {"reason", WD_AITP_TEXT, 0, NULL},
                                                                END};
static const struct wd_aitp_shape  top_up_request            = {top_up_request_members, true};
static const struct wd_aitp_member top_up_response_members[] = {
    {"channel_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"amount", WD_AITP_AMOUNT, WD_AITP_MUST, NULL},
    {"currency", WD_AITP_TEXT, WD_AITP_MUST, NULL},   {"payer_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"timestamp", WD_AITP_TEXT, WD_AITP_MUST, NULL},  {"payer_signature", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"new_balance", WD_AITP_AMOUNT, 0, NULL},         END};
static const struct wd_aitp_shape top_up_response = {top_up_response_members, true};

/* ---- Decisions ----------------------------------------------------------------------------------------------- */

static const char *const           decision_types[]       = {"products", "checkbox", "radio", "confirmation", NULL};
static const char *const           option_quote_types[]   = {"Quote", NULL};
static const char *const           plan_types[]           = {"one-time", NULL};
static const char *const           plan_currencies[]      = {"USD", NULL};
static const struct wd_aitp_member plan_members[]         = {{"plan_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                             {"plan_type", WD_AITP_WORD, WD_AITP_MUST, plan_types},
                                                             {"amount", WD_AITP_NUMBER, WD_AITP_MUST, NULL},
                                                             {"currency", WD_AITP_WORD, WD_AITP_MUST, plan_currencies},
                                                             END};
static const struct wd_aitp_shape  plan                   = {plan_members, false};
static const struct wd_aitp_member option_quote_members[] = {
    {"type", WD_AITP_WORD, WD_AITP_MUST, option_quote_types},
    {"quote_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"payee_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"payment_plans", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST, &plan},
    {"valid_until", WD_AITP_TIME, WD_AITP_MUST, NULL},
    END};
static const struct wd_aitp_shape  option_quote               = {option_quote_members, false};
static const struct wd_aitp_member variant_members[]          = {{"id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                 {"name", WD_AITP_TEXT, 0, NULL},
                                                                 {"short_variant_name", WD_AITP_TEXT, 0, NULL},
                                                                 {"image_url", WD_AITP_TEXT, 0, NULL},
                                                                 {"description", WD_AITP_TEXT, 0, NULL},
                                                                 {"quote", WD_AITP_OBJECT, 0, &option_quote},
                                                                 {"reviews_count", WD_AITP_WHOLE, 0, NULL},
                                                                 {"five_star_rating", WD_AITP_RATING, 0, NULL},
                                                                 {"url", WD_AITP_TEXT, 0, NULL},
                                                                 END};
static const struct wd_aitp_shape  variant                    = {variant_members, false};
static const struct wd_aitp_member option_members[]           = {{"id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                 {"name", WD_AITP_TEXT, 0, NULL},
                                                                 {"short_variant_name", WD_AITP_TEXT, 0, NULL},
                                                                 {"image_url", WD_AITP_TEXT, 0, NULL},
                                                                 {"description", WD_AITP_TEXT, 0, NULL},
                                                                 {"quote", WD_AITP_OBJECT, 0, &option_quote},
                                                                 {"reviews_count", WD_AITP_WHOLE, 0, NULL},
                                                                 {"five_star_rating", WD_AITP_RATING, 0, NULL},
                                                                 {"url", WD_AITP_TEXT, 0, NULL},
                                                                 {"variants", WD_AITP_OBJECT, WD_AITP_LIST, &variant},
                                                                 END};
static const struct wd_aitp_shape  option                     = {option_members, false};
static const struct wd_aitp_member request_decision_members[] = {
    {"id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"options", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST | WD_AITP_SOME, &option},
    {"title", WD_AITP_TEXT, 0, NULL},
    {"description", WD_AITP_TEXT, 0, NULL},
    {"type", WD_AITP_WORD, 0, decision_types},
    END};
static const struct wd_aitp_shape  request_decision   = {request_decision_members, false};
static const struct wd_aitp_member chosen_members[]   = {{"id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                         {"name", WD_AITP_TEXT, 0, NULL},
                                                         {"quantity", WD_AITP_NUMBER, 0, NULL},
                                                         END};
static const struct wd_aitp_shape  chosen             = {chosen_members, true};
static const struct wd_aitp_member decision_members[] = {
    {"options", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST | WD_AITP_SOME, &chosen},
    {"request_decision_id", WD_AITP_TEXT, 0, NULL},
    END};
static const struct wd_aitp_shape decision = {decision_members, false};

/* ---- Data request -------------------------------------------------------------------------------------------- */

static const char *const field_types[] = {"text", "number", "email", "textarea", "select", "combobox", "tel", NULL};
static const struct wd_aitp_member field_members[] = {{"id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                      {"label", WD_AITP_TEXT, 0, NULL},
                                                      {"description", WD_AITP_TEXT, 0, NULL},
                                                      {"default_value", WD_AITP_TEXT, 0, NULL},
                                                      {"type", WD_AITP_WORD, 0, field_types},
                                                      {"options", WD_AITP_TEXT, WD_AITP_LIST, NULL},
                                                      {"required", WD_AITP_BOOL, 0, NULL},
                                                      {"autocomplete", WD_AITP_TEXT, 0, NULL},
                                                      END};
static const struct wd_aitp_shape  field           = {field_members, false};
static const struct wd_aitp_member form_members[]  = {
     {"fields", WD_AITP_OBJECT, WD_AITP_LIST | WD_AITP_SOME, &field}, {"json_url", WD_AITP_TEXT, 0, NULL}, END};
static const struct wd_aitp_shape  form                   = {form_members, false};
static const struct wd_aitp_member request_data_members[] = {
    {"id", WD_AITP_TEXT, WD_AITP_MUST, NULL},      {"description", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"form", WD_AITP_OBJECT, WD_AITP_MUST, &form}, {"title", WD_AITP_TEXT, 0, NULL},
    {"fillButtonLabel", WD_AITP_TEXT, 0, NULL},    END};
static const struct wd_aitp_shape  request_data    = {request_data_members, false};
static const struct wd_aitp_member datum_members[] = {
    {"id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"label", WD_AITP_TEXT, 0, NULL}, {"value", WD_AITP_TEXT, 0, NULL}, END};
static const struct wd_aitp_shape  datum          = {datum_members, false};
static const struct wd_aitp_member data_members[] = {
    {"fields", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST | WD_AITP_SOME, &datum},
    {"request_data_id", WD_AITP_TEXT, 0, NULL},
    END};
static const struct wd_aitp_shape data = {data_members, false};

/* ---- NEAR wallet --------------------------------------------------------------------------------------------- */

static const char *const near_actions[] = {"CreateAccount", "DeployContract", "FunctionCall",  "Transfer", "Stake",
                                           "AddKey",        "DeleteKey",      "DeleteAccount", NULL};
static const char *const near_tokens[]  = {"nep141", NULL};
static const struct wd_aitp_member request_account_members[] = {
    {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"description", WD_AITP_TEXT, 0, NULL}, END};
static const struct wd_aitp_shape  request_account            = {request_account_members, true};
static const struct wd_aitp_member account_response_members[] = {
    {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"accounts", WD_AITP_TEXT, WD_AITP_MUST | WD_AITP_LIST, NULL},
    END};
static const struct wd_aitp_shape  account_response      = {account_response_members, true};
static const struct wd_aitp_member near_action_members[] = {
    {"type", WD_AITP_WORD, WD_AITP_MUST, near_actions}, {"params", WD_AITP_ANY, WD_AITP_MUST, NULL}, END};
static const struct wd_aitp_shape  near_action                = {near_action_members, true};
static const struct wd_aitp_member near_transaction_members[] = {
    {"receiver_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"actions", WD_AITP_OBJECT, WD_AITP_MUST | WD_AITP_LIST, &near_action},
    END};
static const struct wd_aitp_shape  near_transaction                   = {near_transaction_members, true};
static const struct wd_aitp_member near_request_transaction_members[] = {
    {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"transaction", WD_AITP_OBJECT, WD_AITP_MUST, &near_transaction},
    {"description", WD_AITP_TEXT, 0, NULL},
    END};
static const struct wd_aitp_shape  near_request_transaction            = {near_request_transaction_members, true};
static const struct wd_aitp_member near_transaction_response_members[] = {
    {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"transaction_hash", WD_AITP_TEXT, WD_AITP_MUST, NULL}, END};
static const struct wd_aitp_shape  near_transaction_response      = {near_transaction_response_members, true};
static const struct wd_aitp_member near_message_members[]         = {{"nonce", WD_AITP_NONCE, WD_AITP_MUST, NULL},
                                                                     {"recipient", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                     {"message", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                     END};
static const struct wd_aitp_shape  near_message                   = {near_message_members, true};
static const struct wd_aitp_member near_request_signing_members[] = {
    {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"message", WD_AITP_OBJECT, WD_AITP_MUST, &near_message},
    {"description", WD_AITP_TEXT, 0, NULL},
    {"state", WD_AITP_TEXT, 0, NULL},
    END};
static const struct wd_aitp_shape  near_request_signing            = {near_request_signing_members, true};
static const struct wd_aitp_member near_signing_response_members[] = {{"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                      {"account_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                      {"public_key", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                      {"signature", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                      END};
static const struct wd_aitp_shape  near_signing_response           = {near_signing_response_members, true};
static const struct wd_aitp_member near_token_members[] = {{"notification_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                           {"token_type", WD_AITP_WORD, WD_AITP_MUST, near_tokens},
                                                           {"token_contract", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                           END};
static const struct wd_aitp_shape  near_token           = {near_token_members, true};

/* ---- EVM wallet ---------------------------------------------------------------------------------------------- */

static const char *const           evm_tokens[]               = {"erc20", NULL};
static const char *const           signing_types[]            = {"personal_sign", "typed_data", NULL};
static const struct wd_aitp_member request_address_members[]  = {{"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                 {"description", WD_AITP_TEXT, 0, NULL},
                                                                 {"chain_id", WD_AITP_WHOLE, 0, NULL},
                                                                 END};
static const struct wd_aitp_shape  request_address            = {request_address_members, true};
static const struct wd_aitp_member address_response_members[] = {
    {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"addresses", WD_AITP_ADDRESS, WD_AITP_MUST | WD_AITP_LIST, NULL},
    END};
static const struct wd_aitp_shape  address_response          = {address_response_members, true};
static const struct wd_aitp_member access_members[]          = {{"address", WD_AITP_ADDRESS, WD_AITP_MUST, NULL},
                                                                {"storageKeys", WD_AITP_HASH, WD_AITP_MUST | WD_AITP_LIST, NULL},
                                                                END};
static const struct wd_aitp_shape  access                    = {access_members, true};
static const struct wd_aitp_member evm_transaction_members[] = {{"to", WD_AITP_ADDRESS, WD_AITP_MUST, NULL},
                                                                {"from", WD_AITP_ADDRESS, 0, NULL},
                                                                {"data", WD_AITP_HEX, WD_AITP_MUST, NULL},
                                                                {"value", WD_AITP_HEX, 0, NULL},
                                                                {"gas", WD_AITP_HEX, 0, NULL},
                                                                {"gasPrice", WD_AITP_HEX, 0, NULL},
                                                                {"maxFeePerGas", WD_AITP_HEX, 0, NULL},
                                                                {"maxPriorityFeePerGas", WD_AITP_HEX, 0, NULL},
                                                                {"nonce", WD_AITP_HEX, 0, NULL},
                                                                {"accessList", WD_AITP_OBJECT, WD_AITP_LIST, &access},
                                                                END};
static const struct wd_aitp_shape  evm_transaction           = {evm_transaction_members, true};
static const struct wd_aitp_member evm_request_transaction_members[] = {
    {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"transaction", WD_AITP_OBJECT, WD_AITP_MUST, &evm_transaction},
    {"chain_id", WD_AITP_WHOLE, 0, NULL},
    {"description", WD_AITP_TEXT, 0, NULL},
    END};
static const struct wd_aitp_shape  evm_request_transaction            = {evm_request_transaction_members, true};
static const struct wd_aitp_member evm_transaction_response_members[] = {
    {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL}, {"transaction_hash", WD_AITP_HASH, WD_AITP_MUST, NULL}, END};
static const struct wd_aitp_shape  evm_transaction_response      = {evm_transaction_response_members, true};
static const struct wd_aitp_member typed_data_members[]          = {{"types", WD_AITP_ANY, WD_AITP_MUST, NULL},
                                                                    {"primaryType", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                    {"domain", WD_AITP_ANY, WD_AITP_MUST, NULL},
                                                                    {"message", WD_AITP_ANY, WD_AITP_MUST, NULL},
                                                                    END};
static const struct wd_aitp_shape  typed_data                    = {typed_data_members, true};
static const struct wd_aitp_member evm_request_signing_members[] = {
    {"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
    {"signing_type", WD_AITP_WORD, WD_AITP_MUST, signing_types},
    {"message", WD_AITP_TEXT, 0, NULL},
    {"typed_data", WD_AITP_OBJECT, 0, &typed_data},
    {"address", WD_AITP_ADDRESS, 0, NULL},
    {"description", WD_AITP_TEXT, 0, NULL},
    END};
static const struct wd_aitp_shape  evm_request_signing            = {evm_request_signing_members, true};
static const struct wd_aitp_member evm_signing_response_members[] = {{"request_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                     {"address", WD_AITP_ADDRESS, WD_AITP_MUST, NULL},
                                                                     {"signature", WD_AITP_HEX, WD_AITP_MUST, NULL},
                                                                     END};
static const struct wd_aitp_shape  evm_signing_response           = {evm_signing_response_members, true};
static const struct wd_aitp_member currency_members[]             = {{"name", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                     {"symbol", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                                     {"decimals", WD_AITP_WHOLE, WD_AITP_MUST, NULL},
                                                                     END};
static const struct wd_aitp_shape  currency                       = {currency_members, true};
static const struct wd_aitp_member chain_members[]     = {{"notification_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                          {"chain_id", WD_AITP_WHOLE, WD_AITP_MUST, NULL},
                                                          {"name", WD_AITP_TEXT, 0, NULL},
                                                          {"rpc_url", WD_AITP_TEXT, 0, NULL},
                                                          {"native_currency", WD_AITP_OBJECT, 0, &currency},
                                                          END};
static const struct wd_aitp_shape  chain               = {chain_members, true};
static const struct wd_aitp_member evm_token_members[] = {{"notification_id", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                          {"chain_id", WD_AITP_WHOLE, WD_AITP_MUST, NULL},
                                                          {"token_type", WD_AITP_WORD, WD_AITP_MUST, evm_tokens},
                                                          {"token_contract", WD_AITP_ADDRESS, WD_AITP_MUST, NULL},
                                                          {"name", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                          {"symbol", WD_AITP_TEXT, WD_AITP_MUST, NULL},
                                                          {"decimals", WD_AITP_WHOLE, WD_AITP_MUST, NULL},
                                                          {"icon_url", WD_AITP_TEXT, 0, NULL},
                                                          END};
static const struct wd_aitp_shape  evm_token           = {evm_token_members, true};

/* ---- Kinds --------------------------------------------------------------------------------------------------- */

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
