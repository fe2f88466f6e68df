"""The checksums of a row and of a page, as src/stores/sqlite/sum.c and page.c make them: for tests that change a row behind
the store's back."""
import struct

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


# ---- Pages (src/stores/sqlite/page.c)

PAGE, BODY = 4096, 4080


def crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82f63b78 if i & 1 else 0)
        table.append(i)
    return table


CRC = crc_table()


def page_sum(page):
    if page.startswith(b"SQLite format 3\0"):
        page = bytearray(page)
        for at, n in ((24, 4), (40, 4), (92, 8)):
            page[at:at + n] = bytes(n)
    sums = []
    for k, crc in enumerate((0x9e3779b9, 0x85ebca6b, 0xc2b2ae35)):
        for at in range(8 * k, BODY, 24):
            for byte in page[at:at + 8]:
                crc = crc >> 8 ^ CRC[(crc ^ byte) & 255]
        sums.append(crc)
    h = (sums[0] | sums[1] << 32) ^ sums[2] * 0x9e3779b97f4a7c15 & ALL
    for _ in range(2):
        h = (h ^ h >> 32) * 0xd6e8feb86659fd93 & ALL
    return h ^ h >> 32


def stamp_pages(path):
    """Gives the pages that another program has written their checksums; of a database that has no log."""
    with open(path, "r+b") as f:
        data = f.read()
        if not any(data[BODY:PAGE]):
            return
        for at in range(0, len(data), PAGE):
            page = data[at:at + PAGE]
            total = (page_sum(page) + at // PAGE + 1) & ALL
            a, b = total & 0xffffffff, total >> 32
            tail = struct.pack("<IIII", a, b, -(2 * a + b) & 0xffffffff, -(a + b) & 0xffffffff)
            if page[BODY:] != tail:
                f.seek(at + BODY)
                f.write(tail)
