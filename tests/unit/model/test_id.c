#include "model/id.h"

#include "support/test.h"

/* covers: UAP-3.4/2 */
TEST(model_id_survives_its_uuid)
{
    static const struct wm_id ids[] = {
        {.node = 1, .index = 0, .noun = WM_NOUN_ENTRY},
        {.node = UINT64_MAX, .index = UINT32_MAX, .noun = WM_NOUN_STEP, .attempt = 63, .part = 16383},
        {.node = 0x0123456789abcdef, .index = 0x89abcdef, .noun = WM_NOUN_PART, .attempt = 42, .part = 0x2a55},
        {.node = (uint64_t)1 << 63, .index = 7, .noun = WM_NOUN_TURN},
    };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        struct wm_id back;
        struct wm_position place;
        struct wb_uuid u = wm_id_uuid(ids[i]);
        CHECK_INT(wb_uuid_version(u), 4);
        CHECK(!wm_position_parse(u, &place));
        CHECK(wm_id_parse(u, &back));
        CHECK(back.node == ids[i].node && back.index == ids[i].index && back.noun == ids[i].noun &&
              back.attempt == ids[i].attempt && back.part == ids[i].part);
    }
}

/* The text of an id is kept by clients: it never changes. */
TEST(model_id_is_always_written_so)
{
    char text[WB_UUID_TEXT + 1];
    struct wm_id id = {
        .node = 0x0123456789abcdef, .index = 0x89abcdef, .noun = WM_NOUN_PART, .attempt = 42, .part = 0x2a55};
    CHECK_STR(wb_uuid_text(wm_id_uuid(id), text), UPP_STR("01234567-89ab-4cde-be26-af37bd5552ae"));
    id.attempt += 64; /* modulo 64 */
    CHECK_STR(wb_uuid_text(wm_id_uuid(id), text), UPP_STR("01234567-89ab-4cde-be26-af37bd5552ae"));
}

/* And what was given out before ids looked random is read as ever. */
TEST(model_id_of_version_8_leads_to_the_same)
{
    struct wb_uuid u;
    struct wm_id id;
    CHECK(wb_uuid_parse(UPP_STR("01234567-89ab-8cde-be26-af37bc2aaa55"), &u) && wm_id_parse(u, &id));
    CHECK(id.node == 0x0123456789abcdef && id.index == 0x89abcdef && id.noun == WM_NOUN_PART && id.attempt == 42 &&
          id.part == 0x2a55);
    CHECK(wb_uuid_parse(UPP_STR("01234567-89ab-8cde-be26-af37bffaaa55"), &u) && !wm_id_parse(u, &id)); /* no noun */
}

TEST(model_id_of_others_is_not_ours)
{
    struct wm_id id;
    struct wb_uuid u;
    CHECK(wb_uuid_parse(UPP_STR("01234567-89ab-1cde-be26-af37bc2aaa55"), &u));
    CHECK(!wm_id_parse(u, &id)); /* version 1 */
    CHECK(!wm_id_parse(wm_id_uuid((struct wm_id){.node = 1, .noun = 0}), &id));
    CHECK(!wm_id_parse(wm_id_uuid((struct wm_id){.node = 1, .noun = WM_NOUN_STEP + 1}), &id));
    CHECK(!wm_id_parse(wm_id_uuid((struct wm_id){.node = 0, .noun = WM_NOUN_ENTRY}), &id));
    u = wm_id_uuid((struct wm_id){.node = 0x0123456789abcdef, .index = 7, .noun = WM_NOUN_ENTRY});
    for (unsigned bit = 125; bit < 128; bit++) { /* each has one spelling */
        struct wb_uuid v = u;
        v.b[bit / 8] ^= (unsigned char)(0x80 >> bit % 8);
        test_note("bit %u", bit);
        CHECK(!wm_id_parse(v, &id));
    }
}

/* Both look random, and nothing is an id and a place: of so many some would be without the bit that is turned. */
TEST(model_id_is_no_place)
{
    for (uint32_t i = 0; i < 20000; i++) {
        struct wm_id id = {
            .node = UINT64_C(0x0123456789abcdef) * (i + 1), .index = i, .noun = 1 + i % 4, .part = i % WM_PARTS};
        struct wm_position at = {.node = id.node, .length = i, .step = (uint16_t)i};
        struct wb_uuid one = wm_id_uuid(id), two = wm_position_uuid(at);
        struct wm_id back;
        struct wm_position place;
        CHECK(wm_id_parse(one, &back) && back.node == id.node && back.index == i && back.part == id.part);
        CHECK(wm_position_parse(two, &place) && place.node == id.node && place.length == i);
        CHECK(!wm_position_parse(one, &place) && !wm_id_parse(two, &back));
    }
}

TEST(model_key_takes_the_random_bits_alone)
{
    struct wb_uuid u, v;
    CHECK(wb_uuid_parse(UPP_STR("01234567-89ab-4cde-be26-af37bc2aaa55"), &u));
    CHECK(wm_key(u) == 0x0123456789abcdef);
    v = u;
    v.b[6] ^= 0xf0; /* the version */
    v.b[8] ^= 0xc0; /* the variant */
    CHECK(wm_key(v) == wm_key(u));
    for (unsigned bit = 0; bit < 128; bit++) { /* any other of the first 64 random bits changes it */
        v = u;
        v.b[bit / 8] ^= (unsigned char)(0x80 >> bit % 8);
        bool counts = bit < 48 || (bit >= 52 && bit < 64) || (bit >= 66 && bit < 70);
        test_note("bit %u", bit);
        CHECK((wm_key(v) != wm_key(u)) == counts);
    }
    CHECK(wm_key(WB_UUID_NIL) == 1);

    struct wm_id id; /* ids of a node lead to its key */
    CHECK(wm_id_parse(wm_id_uuid((struct wm_id){.node = wm_key(u), .index = 3, .noun = WM_NOUN_ENTRY}), &id));
    CHECK(id.node == wm_key(u) && id.index == 3);
}
