#!/usr/bin/env python3
"""scripts/suspends: what it finds and what it leaves alone, on small trees."""
from tap import Tree, case, check, main, script

HEADER = {"include/weft/fiber.h": """
#ifdef __cplusplus
extern "C" {
#endif
#define WEFT_SUSPENDS __attribute__((annotate("weft_suspends")))
typedef int weft_fn(void *arg, struct upp_err *err);
UPP_API WEFT_SUSPENDS int weft_sleep_ms(uint64_t ms, struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS void weft_scope_close(struct weft_scope *scope);
UPP_API int weft_scope_spawn(struct weft_scope *scope, const char *name, weft_fn *fn, void *arg, int *ret, int *err);
struct ops { int (*sleep)(int ms); };
#ifdef __cplusplus
}
#endif
"""}


def said(source, **more):
    """The sentences about src/run/a.c with this text."""
    files = HEADER | {"src/run/a.c": source} | {f"src/run/{name}.h": text for name, text in more.items()}
    with Tree(files) as root:
        code, out, err = script("suspends", "--root", root)
    check(err, "")
    lines = out.splitlines()
    results = [line for line in lines if not line.startswith("#")][1:]
    check(lines[0], f"1..{len(results)}", "plan")
    found = [line[2:] for line in lines if line.startswith("#")]
    check(code, 1 if found else 0, "exit code")
    return found


@case
def a_marked_caller_is_fine():
    check(said("WEFT_SUSPENDS static int f(void)\n{\n    return weft_sleep_ms(1, NULL);\n}\n"), [])


@case
def an_unmarked_caller_is_found():
    check(said("static int f(void)\n{\n    int a;\n    return weft_sleep_ms(1, NULL);\n}\n"),
          ["src/run/a.c:4: f calls weft_sleep_ms, which suspends, and is not marked WEFT_SUSPENDS"])


@case
def a_caller_marked_in_a_header_is_fine():
    check(said("int weft__f(void)\n{\n    return weft_sleep_ms(1, NULL);\n}\n",
               b="WEFT_SUSPENDS int weft__f(void);\n"), [])


@case
def it_goes_up_through_callers():
    check(said("WEFT_SUSPENDS static int f(void)\n{\n    return weft_sleep_ms(1, NULL);\n}\n"
               "static int g(void)\n{\n    return f() + f();\n}\n"),
          ["src/run/a.c:7: g calls f, which suspends, and is not marked WEFT_SUSPENDS"])


@case
def a_cleanup_is_a_call():
    check(said("static void f(void)\n{\n    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};\n}\n"),
          ["src/run/a.c:3: f cleans up by weft_scope_close, which suspends, and is not marked WEFT_SUSPENDS"])


@case
def the_function_of_a_fiber_is_marked():
    source = ("%sstatic int child(void *arg, struct upp_err *err)\n{\n    return 0;\n}\n"
              "static int f(struct weft_scope *s)\n{\n    return weft_scope_spawn(s, \"a, b\", child, g(1, 2), NULL, NULL);\n}\n")
    check(said(source % ""),
          ["src/run/a.c:7: child is the function of a fiber and is not marked WEFT_SUSPENDS"])
    check(said(source % "WEFT_SUSPENDS "), [])


@case
def statics_of_one_name_are_told_apart():
    check(said("static int f(void)\n{\n    return 0;\n}\nstatic int g(void)\n{\n    return f();\n}\n",
               b="WEFT_SUSPENDS int f(void);\n"), [])


@case
def comments_strings_and_macros_are_no_calls():
    check(said("/* weft_sleep_ms(1) */\n#define NAP \\\n    weft_sleep_ms(1)\nstatic const char *f(void)\n{\n"
               "    // weft_sleep_ms(2)\n    return \"weft_sleep_ms(1) \\\" {\";\n}\n"), [])


@case
def attributes_pointers_and_tables_do_not_confuse_it():
    check(said("__attribute__((noinline)) UPP_PRINTF(1, 2) static int f(const char *fmt, ...)\n{\n"
               "    return weft_sleep_ms(1, 0);\n}\n"
               "static const struct ops table = {.sleep = NULL};\n"
               "static int (*pointer)(void);\n"
               "struct s {\n    int (*weft_sleep_ms)(int);\n};\n"
               "enum { A = sizeof(int) };\n"),
          ["src/run/a.c:3: f calls weft_sleep_ms, which suspends, and is not marked WEFT_SUSPENDS"])


@case
def nothing_marked_at_all_is_a_mistake():
    with Tree({"src/run/a.c": "int f(void)\n{\n    return 0;\n}\n"}) as root:
        code, out, _ = script("suspends", "--root", root)
    check((code, out.splitlines()[-1]), (1, "# include:1: nothing is marked WEFT_SUSPENDS"))


@case
def the_project_itself_is_marked():
    code, out, err = script("suspends")
    check((code, err, [line for line in out.splitlines() if line.startswith("#")]), (0, "", []))


if __name__ == "__main__":
    main()
