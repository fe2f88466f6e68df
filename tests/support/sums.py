"""The checksum of a row, as src/stores/sqlite/sum.c makes it: for tests that change a row behind the store's back."""

ALL = (1 << 64) - 1
SEEDS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93)


def stir(h, word):
    h = ((h ^ word) * SEEDS[0]) & ALL
    return h ^ h >> 29


def turn(h, word):
    h ^= word
    return ((h << 29 | h >> 35) & ALL) * SEEDS[3] & ALL


def stir_bytes(h, p):
    n = len(p)
    words = lambda part: [int.from_bytes(part[i:i + 8], "little") for i in range(0, len(part), 8)]
    at = n - n % 32
    if at:
        lanes = [h ^ seed for seed in SEEDS]
        for i, word in enumerate(words(p[:at])):
            lanes[i % 4] = turn(lanes[i % 4], word)
        for lane in lanes:
            h = stir(h, lane)
    rest = words(p[at:])
    for word in rest[:n % 32 // 8]:
        h = stir(h, word)
    return stir(stir(h, rest[-1] if n % 8 else 0), n)


def weft_sum(table, *values):
    h = stir(SEEDS[1], int.from_bytes(table.encode(), "little"))
    for v in values:
        kind = 5 if v is None else 1 if isinstance(v, int) else 3 if isinstance(v, str) else 4
        h ^= kind * SEEDS[2] & ALL
        if kind == 5:
            h = stir(h, 0)
        elif kind == 1:
            h = stir(h, v & ALL)
        else:
            h = stir_bytes(h, v.encode() if kind == 3 else bytes(v))
    h = (h ^ h >> 32) * SEEDS[3] & ALL
    h >>= 32
    return h - (1 << 32) if h >> 31 else h
