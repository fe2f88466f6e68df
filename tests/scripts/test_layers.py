#!/usr/bin/env python3
"""scripts/layers: each arrow accepted, each rule refusing, on small trees."""
from types import ModuleType

from tap import ROOT, Tree, case, check, check_in, main, script

# Written out here, not derived: row -> every row it may include.
UPP = "upp/client upp/http upp/providers model json base"
RUN = f"run log fiber {UPP}"
AGENT = f"agent agent/middleware agent/strategy {RUN}"
CORE = "dialects/core model json base"
STORES = "stores fiber model json base"
DIALECTS = "agentapi aitp assistants core envelope pai pydantic thread uap ui upp"
ALL = (f"runtime session thread agent/tool {AGENT} {' '.join(f'dialects/{d}' for d in DIALECTS.split())} "
       "stores stores/blobs stores/sealed")
DOORS = "aitp audit chat envelopes keys process responses ui usage v1".split()
MAY = {
    "base": "base",
    "json": "json base",
    "model": "model json base",
    "upp/client": "upp/client model json base",
    "upp/http": "upp/http upp/client model json base",
    "upp/providers": UPP,
    "fiber": "fiber base",
    "log": "log model json base",
    "run": RUN,
    "agent/middleware": f"agent/middleware {RUN}",
    "agent/strategy": f"agent/strategy {RUN}",
    "agent": AGENT,
    "agent/tool": f"agent/tool {AGENT}",
    "thread": "thread log upp/client model json base",
    "session": f"session thread {AGENT}",
    "dialects/core": CORE,
    "dialects/pai": f"dialects/pai {CORE}",
    "dialects/upp": f"dialects/upp {CORE}",
    "dialects/agentapi": f"dialects/agentapi dialects/pai {CORE}",
    "dialects/aitp": f"dialects/aitp {CORE}",
    "dialects/assistants": f"dialects/assistants {CORE}",
    "dialects/envelope": f"dialects/envelope dialects/pai {CORE}",
    "dialects/pydantic": f"dialects/pydantic dialects/pai {CORE}",
    "dialects/thread": f"dialects/thread dialects/pai dialects/upp {CORE}",
    "dialects/uap": f"dialects/uap dialects/upp {CORE}",
    "dialects/ui": f"dialects/ui dialects/pai {CORE}",
    "stores": STORES,
    **{f"stores/{s}": f"stores/{s} {STORES}" for s in ("blobs", "memory", "sealed", "sqlite")},
    "runtime": ALL,
    "server": f"server {ALL}",
    "server/http": f"server server/http {ALL}",
    "server/members": f"server server/http server/members {ALL}",
    "server/doors": f"server server/http server/members server/doors {ALL}",
    **{f"server/doors/{door}": f"server/doors/{door} server server/http server/members server/doors {ALL}" for door in DOORS},
    "cli": f"cli server server/http server/members server/doors {' '.join(f'server/doors/{door}' for door in DOORS)} {ALL}",
}
LIBUPP = ["base", "json", "model", "upp/client", "upp/http", "upp/providers"]
NET, CURL = "server/http/net.c", "upp/http/curl.c"


def below(*tops):
    return [f"{row}/a.c" for row in MAY if row.split("/")[0] in tops]


LIBRARIES = {
    "cmocka.h": [],
    "curl/curl.h": [CURL],
    "libfyaml.h": below("runtime"),
    "llhttp.h": below("server") + [NET],
    "openssl/evp.h": below("base", "stores", "server") + [NET],
    "sqlite3.h": below("stores"),
    "uv.h": below("fiber") + [NET],
    "yyjson.h": [f"{row}/a.c" for row in MAY if row not in ("base", "fiber")] + [CURL, NET],
}


def layers(files):
    """-> (exit code, {what: ok?}, [diagnostic])"""
    with Tree(files) as root:
        code, out, err = script("layers", "--root", root)
    check(err, "")
    lines = out.splitlines()
    results = [line for line in lines if " - " in line and not line.startswith("#")]
    check(lines[0], f"1..{len(results)}", "plan")
    return code, {r.split(" - ")[1]: r.startswith("ok") for r in results}, [r[2:] for r in lines if r.startswith("#")]


def accepted(files):
    code, results, said = layers(files)
    check((code, said, all(results.values())), (0, [], True))


def refused(diagnostics, files):
    code, results, said = layers(files)
    check(said, diagnostics)
    check((code, all(results.values())), (1, False))


@case
def every_arrow_is_accepted():
    files = {}
    for folder, may in MAY.items():
        files[f"src/{folder}/x.h"] = "#pragma once\n"
        files[f"src/{folder}/a.c"] = "".join(f'#include "{f}/x.h"\n' for f in may.split())
    accepted(files)


@case
def everything_else_is_refused():
    files, want = {}, set()
    for folder, may in MAY.items():
        not_may = sorted(set(MAY) - set(may.split()))
        files[f"src/{folder}/x.h"] = ""
        files[f"src/{folder}/a.c"] = "".join(f'#include "{f}/x.h"\n' for f in not_may)
        want |= {f'src/{folder}/a.c:{n}: {folder} may not include "{f}/x.h"' for n, f in enumerate(not_may, 1)}
    code, results, said = layers(files)
    check((code, {line.split(" (")[0] for line in said}), (1, want))
    check(results, {**{f"src/{f.split('/')[0]}": False for f in MAY}, "include cycles": True})


@case
def stores_see_one_header_of_log():
    files = {"src/log/store.h": "", "src/log/tree.h": "", "src/log/a.c": '#include "log/tree.h"\n'}
    accepted({**files, "src/stores/a.c": '#include "log/store.h"\n'})
    refused(['src/stores/a.c:2: stores may not include "log/tree.h" '
             "(it may: base, fiber, json, log/store.h, model, stores)"],
            {**files, "src/stores/a.c": '\n#include "log/tree.h"\n'})


@case
def subfolders_have_a_row_or_belong_to_the_folder_above():
    accepted({"src/server/http/x.h": "", "src/server/http/net/a.c": '#include "server/http/x.h"\n',
              "src/server/http/b.c": '#include "server/http/net/y.h"\n', "src/server/http/net/y.h": ""})
    refused(['src/stores/blobs/deep/a.c:1: stores/blobs may not include "stores/sqlite/x.h" '
             "(it may: base, fiber, json, log/store.h, model, stores, stores/blobs)"],
            {"src/stores/blobs/deep/a.c": '#include "stores/sqlite/x.h"\n', "src/stores/sqlite/x.h": ""})


@case
def a_door_includes_no_other_and_only_their_table_includes_doors():
    x = '#include "server/doors/v1/x.h"\n'
    files = {"src/server/doors/v1/x.h": "", "src/server/doors/objects/x.h": ""}
    accepted({**files, "src/server/doors/doors.c": x, "src/server/doors/v1/a.c": x + '#include "server/doors/objects/x.h"\n'})
    for file in ("start.c", "doors.h", "objects/a.c", "chat/a.c", "chat/deep/a.c"):
        code, _, said = layers({**files, f"src/server/doors/{file}": x})
        row = "server/doors/chat" if file.startswith("chat") else "server/doors"
        check((code, [line.split(" (")[0] for line in said]),
              (1, [f'src/server/doors/{file}:1: {row} may not include "server/doors/v1/x.h"']))


@case
def a_door_has_a_row():
    door = "const struct sv_door sv_door_new = {0};\n"
    accepted({"src/server/doors/v1/routes.c": door})
    refused(["src/server/doors/new/routes.c:1: a door has a row of its own: add its folder to DOORS in scripts/layers"],
            {"src/server/doors/new/routes.c": door})


@case
def includes_are_written_from_the_root_of_src():
    for name in ("x.h", "uv.h", "elsewhere/x.h"):
        refused([f'src/base/a.c:1: "{name}" is not written from the root of src, as in "folder/file.h"'],
                {"src/base/a.c": f'#include "{name}"\n', "src/base/x.h": ""})
    for name in ("../base/x.h", "./base/x.h", "base/../json/x.h", "/usr/include/uv.h"):
        refused([f"src/base/a.c:1: {name} is not a plain path"], {"src/base/a.c": f'#include "{name}"\n'})


@case
def internal_headers_are_quoted_and_public_ones_are_not():
    files = {"src/upp/client/x.h": "", "include/upp/y.h": ""}
    accepted({**files, "src/upp/client/a.c": '#include "upp/client/x.h"\n#include <upp/y.h>\n'})
    refused(['src/upp/client/a.c:1: <upp/client/x.h> is internal: write "upp/client/x.h"'], {**files, "src/upp/client/a.c": "#include <upp/client/x.h>\n"})
    refused(['src/upp/client/a.c:1: <base/x.h> is internal: write "base/x.h"'], {**files, "src/upp/client/a.c": "#include <base/x.h>\n"})
    refused(['src/upp/client/a.c:1: "upp/y.h" is public: write <upp/y.h>'], {**files, "src/upp/client/a.c": '#include "upp/y.h"\n'})


@case
def one_name_is_not_both_public_and_internal():
    refused(["include/upp/client/x.h:1: src/ has a header of the same name, so includes of it are ambiguous"],
            {"include/upp/client/x.h": "", "src/upp/client/x.h": ""})


@case
def public_headers_in_sources():
    public = {"include/upp/x.h": "", "include/weft/x.h": ""}
    accepted({**public, **{f"src/{f}/a.c": "#include <upp/x.h>\n" for f in MAY}})
    accepted({**public, **{f"src/{f}/a.c": "#include <weft/x.h>\n" for f in MAY if f not in LIBUPP}})
    refused([f"src/{f}/a.c:1: {f} is part of libupp and may not include <weft/x.h>" for f in sorted(LIBUPP)],
            {**public, **{f"src/{f}/a.c": "#include <weft/x.h>\n" for f in LIBUPP}})


@case
def public_headers_in_public_headers():
    accepted({"include/upp/a.h": "#include <stdint.h>\n#include <upp/b.h>\n", "include/upp/b.h": "",
              "include/weft/a.h": "#include <stddef.h>\n#include <upp/b.h>\n#include <weft/b.h>\n", "include/weft/b.h": ""})
    for folder, may, names in (("upp", "<upp/...>", ["<weft/b.h>", "<yyjson.h>", "<sys/types.h>", '"upp/b.h"']),
                               ("weft", "<upp/...> or <weft/...>", ["<uv.h>", "<unistd.h>", '"base/str.h"', '"stdint.h"'])):
        refused([f"include/{folder}/a.h:{n}: a header of include/{folder} may include {may} or a C standard header, "
                 f"not {name[1:-1]}" for n, name in enumerate(names, 1)],
                {f"include/{folder}/a.h": "".join(f"#include {name}\n" for name in names)})


@case
def library_headers_stay_in_their_places():
    places = [f"{folder}/a.c" for folder in MAY] + ["server/http/net.c", "upp/http/curl.c"]
    for header, right in LIBRARIES.items():
        files = {f"src/{place}": f"#include <{header}>\n" for place in places}
        code, _, said = layers(files)
        check((code, sorted(line.split(":1: ")[0] for line in said)),
              (1, sorted(f"src/{place}" for place in places if place not in right)), header)
        for line in said:
            check_in(f":1: <{header}> belongs in ", line)


@case
def an_exception_is_for_one_file_and_one_header():
    module = ModuleType("layers")
    exec((ROOT / "scripts" / "layers").read_text(encoding="utf-8"), module.__dict__)
    module.EXCEPTIONS = {("src/cli/a.c", "uv.h"): "a reason"}
    check(module.judge(ROOT, "src/cli/a.c", "<", "uv.h"), None)
    for file, header in (("src/cli/b.c", "uv.h"), ("src/cli/a.c", "sqlite3.h")):
        check_in(" belongs in ", module.judge(ROOT, file, "<", header))


@case
def other_system_headers_are_free():
    accepted({"src/base/a.c": "#include <stdio.h>\n#include <sys/mman.h>\n#include <uvx.h>\n"})


@case
def assembly_and_odd_spacing_are_read():
    want = ' may not include "json/x.h" (it may: base)'
    refused([f"src/base/a.S:2: base{want}", f"src/base/b.h:1: base{want}"],
            {"src/base/a.S": '.text\n#include "json/x.h"\n', "src/base/b.h": '  #  include"json/x.h" /* why */\n',
             "src/base/c.h": '/* As in\n * #include "json/x.h"\n */\n// #include "json/x.h"\n',
             "src/base/d.txt": '#include "json/x.h"\n'})


@case
def macros_cannot_be_included():
    refused(["src/base/a.c:1: an include must name its file, not a macro"], {"src/base/a.c": "#include WHICH\n"})


@case
def unknown_folders_are_refused():
    refused(["include/lib:1: unknown folder: scripts/layers has no row for it",
             "src/util:1: unknown folder: scripts/layers has no row for it"],
            {"src/util/a.c": '#include "cli/x.h"\n', "include/lib/a.h": "", "src/base/a.c": ""})


@case
def sources_outside_a_folder_are_refused():
    refused(["src/main.c:1: source files live in a folder of src/"], {"src/main.c": "", "src/base/a.c": ""})


@case
def no_sources_at_all_is_a_failure():
    refused(["src:1: no source files below src/ or include/"], {"README.md": ""})


@case
def cycles_are_found_once():
    refused(["src/base/c.h:2: include cycle: src/base/a.h -> src/base/b.h -> src/base/c.h -> src/base/a.h",
             "src/base/d.h:1: include cycle: src/base/d.h -> src/base/d.h"],
            {"src/base/a.h": '#include "base/b.h"\n', "src/base/b.h": '#include "base/c.h"\n',
             "src/base/c.h": '\n#include "base/a.h"\n', "src/base/d.h": '#include "base/d.h"\n',
             "src/base/x.c": '#include "base/a.h"\n#include "base/c.h"\n'})
    refused(["include/upp/b.h:1: include cycle: include/upp/a.h -> include/upp/b.h -> include/upp/a.h"],
            {"include/upp/a.h": "#include <upp/b.h>\n", "include/upp/b.h": "#include <upp/a.h>\n"})


@case
def a_diamond_is_no_cycle():
    accepted({"src/base/a.h": '#include "base/b.h"\n#include "base/c.h"\n', "src/base/b.h": '#include "base/d.h"\n',
              "src/base/c.h": '#include "base/d.h"\n', "src/base/d.h": ""})


if __name__ == "__main__":
    main()
