#!/usr/bin/env python3
"""Writes the first inputs of every corpus: one file for each class of text. What fuzzers found later stands beside them."""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "corpus"  # the test writes into a folder of its own

READ = {
    "scalars": '[0,-0,1.0,1e400,-1E-400,123456789012345678901234567890,true,false,null,""]',
    "nested": '{"a":[[[{"b":{"c":[]}}]]],"":{}}',
    "deep": "[" * 128 + "]" * 128,
    "too-deep": "[" * 129 + "]" * 129,
    "open": '[{"a":[' * 40,
    "duplicates": '{"a":1,"b":2,"a":3,"a":{"a":1,"a":2}}',
    "many-duplicates": "{" + ",".join('"k%d":%d' % (i % 7, i) for i in range(40)) + "}",
    "escapes": r'["\"\\\/\b\f\n\r\t\u0000\u001f\u0041\u00e9\u20ac\ud83d\ude00"]',
    "lone": r'["\ud800","\udc00","\udfff\ud800","\ud83d\ud83d\ude00","\\ud800","\\\ud800"]',
    "lone-name": r'{"\ud800":1,"\uDC00":2}',
    "lone-then-bad": r'["\ud800",]',
    "half-escape": r'["\ud800\u12"]',
    "utf8": '["\x7f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"]',
    "long-string": '"' + "x" * 300 + r"\n" + "\u20ac" * 20 + '"',
    "blanks": ' \t\r\n{ "a" :\n[ 1 , 2 ]\t} \r\n',
    "trailing-comma": '{"a":[1,2,],}',
    "comments": '/* a */ [1] // b',
    "words": "[nul,tru,falsey,NaN,Infinity]",
    "numbers-bad": "[01,1.,.5,+1,1e,0x10,--1]",
    "two": "{} {}",
    "empty": "",
}
READ_BYTES = {
    "bom": b"\xef\xbb\xbf[]",
    "utf16": b"\xff\xfe[\0]\0",
    "overlong": b'["\xc0\xaf","\xe0\x80\xaf"]',
    "raw-surrogate": b'["\xed\xa0\x80"]',
    "raw-after-lone": b'["\\ud83d\xed\xb8\x80"]',
    "cut": b'["\xe2\x82"]',
    "too-high": b'["\xf4\x90\x80\x80"]',
    "latin1": b'["caf\xe9"]',
    "nul": b'["\0"]\0',
}
SHAPE = {
    "least": '{"id":"c","messages":[]}',
    "all": '{"id":"c","title":"t","version":1,"messages":[{"id":"1","role":"user","content":"hi"},{"id":"2","role":'
    '"assistant","content":[{"type":"text","text":"x"},{"type":"tool_call","id":"c1","name":"f","args":{"a":[1.0]}}],'
    '"usage":{"input_tokens":1,"output_tokens":2,"cost":0.10,"exact":1e99},"metadata":{"k":null}},{"id":"3","role":"tool",'
    '"content":[{"type":"tool_result","id":"c1","content":["a",null],"failed":false}],"vendor_id":"v"}],"tags":["a"],'
    '"state":{}}',
    "order": '{"x":1,"messages":[],"y":[2],"id":"c","z":{}}',
    "duplicates": '{"id":"a","id":"b","messages":[],"u":1,"u":2,"messages":[],"id":"c"}',
    "nulls": '{"id":"c","title":null,"messages":[{"id":"1","role":"user","content":null,"usage":null,"metadata":null}],'
    '"tags":null,"state":null}',
    "aliases": '{"id":"c","messages":[{"id":"1","role":"user","vendor_id":"a","provider_response_id":"b","usage":'
    '{"request_tokens":1.0,"input_tokens":2,"request_tokens":3}}]}',
    "spellings": '{"id":"c","version":1e0,"messages":[{"id":"1","role":"user","usage":{"input_tokens":-0,"cost":1E2}}]}',
    "tags-unknown": '{"id":"c","messages":[{"id":"1","role":"bard","content":[{"type":"song"},{},{"type":7},'
    '{"type":"text","type":"tool_call","id":"","name":""}]}]}',
    "other-type-twice": '{"id":"c","messages":[{"id":"1","role":"user","content":"a","content":[],"content":null}]}',
    "replies": '{"id":"c","messages":[{"id":"1","role":"user","replies":[{"id":"2","role":"user","replies":[]}]}]}',
    "all-wrong": '{"id":1,"title":{},"version":-1,"messages":[1,{"id":null,"role":[],"content":5,"usage":{"cost":"x"}}],'
    '"tags":[null],"state":0}',
    "not-object": "[]",
    "surrogates": r'{"id":"\ud800","messages":[],"\udc00":"\udc00"}',
    "many-unknown": '{"id":"c",' + ",".join('"x%d":%d.0' % (i, i) for i in range(70)) + ',"messages":[]}',
}
COMPARE = {
    "same": ('{"a":1,"b":[2,{"c":3}]}', '{"b":[2.0,{"c":30e-1}],"a":1}'),
    "order": ("[1,2]", "[2,1]"),
    "null-absent": ('{"a":null}', "{}"),
    "duplicates": ('{"a":1,"b":0,"a":2}', '{"a":1,"a":2,"b":0}'),
    "duplicates-swapped": ('{"a":1,"a":2}', '{"a":2,"a":1}'),
    "huge": ("1e1000000000", "10e999999999"),
    "zero": ("-0.0e99", "0"),
    "strings": (r'"\u0041\ud800"', r'"A\uD800"'),
    "other-name": ('{"a":1,"b":2}', '{"a":1,"c":2}'),
    "deep": ("[" * 100 + "]" * 100, "[" * 100 + "]" * 100),
    "one": ('{"b":{"d":1,"c":2},"a":[]}', None),
}
NUMBER = {
    "zero": "0 -0", "point": "1.0 1", "exponent": "10e-1 0.1e1", "large": "123456789012345678901234567890 1e29",
    "max": "18446744073709551615 1844674407370955161.5e1", "min": "-9223372036854775808 -9223372036854775809",
    "huge": "1e1000000000 10e999999999", "huger": "1e100000000000000000000000 1e-100000000000000000000000",
    "tie": "9007199254740993 9007199254740993.00000000000000000000000000000000000000000000000000000000000000000000001",
    "small": "4.9e-324 2.5e-324", "bad": "01 1.", "bad2": "-x 1e+", "long": "0." + "0" * 400 + "1 1e-401",
    "long2": "1" + "0" * 400 + " 1e400",
}
STRING = {
    "ascii": b"plain text of more than sixteen bytes", "quote": b'a "quoted" \\ text', "control": bytes(range(0x20)),
    "utf8": "h\u00e9 \u20ac \U0001f600 and more".encode(), "hangul": "\ud55c\uad6d\uc5b4 \ud7ff".encode(),
    "lone": b"aaaaaaaaaaaaaaa\xed\xa0\x80\xed\xa0\x80 \xed\xb0\x80", "pair": b"\xed\xa0\xbd\xed\xb8\x80",
    "bad": b"aaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa9 then \x80", "cut": b"12345678\xe2\x82", "empty": b"",
}
BASE64 = {
    "padded": "aGVsbG8=", "bare": "aGVsbG8", "url": "-_-_", "plain": "+/+/", "mixed": "+_+_", "half": "aG==", "long": "QUJD" * 30,
    "over": "aGVsbG8===", "blank": "aGVs bG8=", "bits": "aGVsbG9=", "empty": "",
}
ISO8601 = {
    "upp": "2026-01-02T03:04:05.678Z", "pydantic": "2026-01-02T03:04:05.678901+10:11", "naive": "2026-01-02 03:04",
    "date": "2024-02-29", "leap-bad": "2023-02-29", "lower": "2026-01-02t03:04:05z", "fine": "2026-01-02T03:04:05.1234567890123-23:59",
    "first": "0001-01-01T00:00:00+23:59", "last": "9999-12-31T23:59:59.999999999-23:59", "hour24": "2026-01-02T24:00:00Z",
    "second60": "2016-12-31T23:59:60Z", "week": "2026-W01-1", "basic": "20260102T030405Z", "zero": "0000-01-01", "minus0": "2026-01-02T03:04-00:00",
}
UUID = {
    "v4": "01234567-89ab-4cde-8f01-23456789abcd", "upper": "01234567-89AB-4CDE-8F01-23456789ABCD",
    "hex": "0123456789ab8cde8f0123456789abcd", "nil": "00000000-0000-0000-0000-000000000000", "short": "01234567-89ab",
    "braces": "{01234567-89ab-4cde-8f01-23456789abcd}", "dashes": "0123-456789ab-4cde-8f01-23456789abcd", "g": "g" * 32,
}
ROW = {
    "empty": ("{}", None),
    "message": ('{"v":40,"c":1,"s":3,"t":1770091506007,"e":[{"k":2,"j":{}},{"n":5,"r":2,"i":"msg_1","p":[{"x":"one two"},'
                '{"k":8,"i":"c","n":"calc","x":"{ }","c":1}]},{"r":3,"f":["c","d"]}],"r":[{"k":2,"e":1,"y":3,"g":[1,2,3,4]},'
                '{"k":3,"c":"c","n":"calc","x":"{ }"},{"k":4,"t":5,"c":"c","o":1,"j":[1.0,null],"m":7},{"k":5}],"x":{"a":1}}',
                bytes([0, 1, 2, 3, 3, 1, 10, 11, 1, 2, 3, 1, 0, 4, 12])),
    "media": ('{"e":[{"o":2,"r":1,"w":"me","z":"now","t":-7,"b":1,"d":{"p":{}},"p":[{"k":3,"m":{"s":3,"u":"https://x","m":"image/png",'
              '"w":2,"h":1}},{"k":9,"i":"c","j":"x","e":1},{"k":2,"x":"","d":{"a":{}}}]}]}', None),
    "run": ('{"r":[{"k":1,"u":3,"j":{"name":"UPPError"},"p":[{"c":"c","n":"ask","a":"{}","r":"01020000000000000000000000000000",'
            '"y":1}]},{"k":6,"i":"ff000000000000000000000000000000"},{"k":7,"l":9},{"k":3,"h":"ab000000000000000000000000000000",'
            '"q":18446744073709551615}]}', None),
    "wtf8": (r'{"e":[{"r":2,"p":[{"x":"\u0000\ud83d"}]}]}', bytes([1, 2, 3, 1, 3, 4])),
    "tape-too-long": ('{"e":[{"r":2,"p":[{"x":"abc"}]}]}', bytes([1, 2, 3, 4, 0])),
    "tape-huge": ('{"e":[{"r":2,"p":[{"x":"abc"}]}]}', bytes([2, 3, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1])),
    "tape-order": ('{"e":[{"r":2,"p":[{"x":"abc"}]}]}', bytes([3, 1, 0, 2, 4, 4])),
    "unknown": ('{"e":[{"r":2,"q":1}]}', None),
    "deep": ('{"x":' + "[" * 130 + "]" * 130 + "}", None),
}
STAMP = '"timestamp":"2026-02-03T04:05:06.007Z"'
MESSAGE = {
    "user": '{"id":"a","type":"user","content":[{"type":"text","text":"hi"}],' + STAMP + "}",
    "assistant": '{"id":"msg_77","type":"assistant","content":[{"type":"reasoning","text":""}],"metadata":{"anthropic":{"n":1.0}},'
    + STAMP + ',"toolCalls":[{"toolCallId":"c","toolName":"calc","arguments":{"e":"2+2"}}]}',
    "results": '{"id":"b","type":"tool_result","content":[],' + STAMP + ',"results":[{"toolCallId":"c","result":4,"isError":false},'
    '{"toolCallId":"d","result":"x"},{"toolCallId":"e"}]}',
    "media": '{"id":"m","type":"user","content":[{"type":"image","source":{"type":"base64","data":"iVBORw0KGgo="},"mimeType":"image/png",'
    '"width":2},{"type":"image","source":{"type":"url","url":"x"}},{"type":"audio","data":[1,2,255],"duration":0.5},'
    '{"type":"video","data":{"0":1,"1":2}},{"type":"document","source":{"type":"text","data":"t"},"title":"n"},'
    '{"type":"binary","data":"AQ","metadata":{}}],"timestamp":"2026-02-03"}',
    "weft": '{"id":"m","type":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"metadata":{"x":1,"weft":'
    '{"y":2,"order":["content","call","content"],"arguments":{"0":"[1] "},"interrupted":true,"cut":[1]}},' + STAMP
    + ',"toolCalls":[{"toolCallId":"c","toolName":"t","arguments":{}}]}',
    "weft-odd": '{"id":"m","type":"assistant","content":[],"metadata":{"weft":{"order":[],"arguments":{"0":"{}","1":2},"cut":[9]},"weft":1},'
    + STAMP + ',"toolCalls":[{"toolCallId":"c","toolName":"t","arguments":{}}]}',
    "thread": '{"id":"t","messages":[{"id":"a","type":"user","content":[],' + STAMP + '}],"createdAt":"2026-02-03T04:05:06Z",'
    '"updatedAt":"2026-02-03"}',
    "unknown": '{"id":"a","type":"bard","content":[],' + STAMP + "}",
    "surrogates": r'{"id":"\ud800","type":"user","content":[{"type":"text","text":"\udc00\u0000"}],' + STAMP + "}",
}

UI_ORDER = {
    "text": "run running\nstep\nopen\npart text\n+ 0 Hello\nclose 0\nmessage\nendstep\nrun completed",
    "tools": "run running\nstep\nopen\npart call c1 a\npart call c2 b\n+ 0 {}\n+ 1 {\nmessage tools\nstart c1 a {}\n"
             "end c1 done 1\nend c2 error \"x\"\nendstep\nrun completed",
    "wait": "run running\nstep\nopen\npart call c1 a\n+ 0 {}\nclose 0\nmessage tools\nrun waiting ?c1\nrun running\n"
            "end c1 denied \"no\"\nendstep\nrun completed",
    "void": "run running\nstep\nopen\npart reasoning\n+ 0 x\nvoid\nstep\nopen\npart text\nmessage cut\nrun failed x",
    "child": "run running\nstep\nchild 1 run running\nchild 1 open\nchild 1 part text\nchild 1 + 0 x\nrun waiting d1\n"
             "run running\nchild 1 end d1 done 1\nrun cancelled",
    "wrong": "run running\nopen\nopen\npart text\n+ 0 x\nclose 0\n+ 0 y",
    "aside": "run running\nstep\nopen reason\npart text\n+ 0 x\nclose 0\nmessage\nopen plan\npart text\n+ 0 y\nvoid\nopen\n"
             "part call c1 t\nvoid\naside plan\nwhole call c1 t {}\nmessage\nstart c1 t {}\nend c1 done 1\nendstep\nrun completed",
    "event": 'run running\nevent {"type":"a.b","data":{"__proto__":1},"source":"s","targets":["t"]}\nagent 2\nstep\nopen\n'
             'part text\n+ 0 x\nevent {"type":1}\nevent x\nrun completed',
}
PARAMETERS = {
    "empty": "",
    "none": "{}",
    "blanks": " { \t}\r\n",
    "doc": '{city: string, days?: integer, units: "metric"|"imperial", tags: string[], at: {lat: number, lon: number}}',
    "types": "{a:string,b:integer,c:number,d:boolean,e:object,f:any}",
    "arrays": '{a: string[][], b: {c: any[]}[], d: "x"|"y"[]}',
    "deep": "{a:" * 16 + "{}" + "}" * 16,
    "too-deep": "{a:" * 17 + "{}" + "}" * 17,
    "many-arrays": "{a: any" + "[]" * 17 + "}",
    "twice": "{a: string, a?: integer}",
    "many": "{" + ",".join(f"a{i}?:any" for i in range(1025)) + "}",
    "comma-last": "{a: any,}",
    "unknown": "{a: text}",
    "open": '{a: {b: "x',
    "escape": '{a: "x\\"y"}',
    "quoted-brace": '{a: {b: "}"|"{"}[], c: any}',
    "after": "{} x",
    "json": ' {"type":"object","properties":{"a":{"type":"string"}},"required":["a"]} ',
    "json-bad": '{"type":}',
    "word": "string",
    "lone": "{a: any",
}
SAID = '{"id":"b","type":"assistant","content":[{"type":"text","text":"hello"}],"timestamp":"2026-02-03T04:05:06.900Z"}'
USED = '{"inputTokens":5,"outputTokens":2,"totalTokens":7,"cacheReadTokens":0,"cacheWriteTokens":0,"cycles":[%s]}'
TURN_JSON = {
    "least": '{"messages":[%s]}' % SAID,
    "none": '{"messages":[]}',
    "all": '{"messages":[{"id":"a","type":"user","content":[{"type":"image","source":{"type":"bytes","data":{"0":1,"1":255}},'
    '"mimeType":"image/png"}]},{"id":"c","type":"assistant","content":[],"toolCalls":[{"toolCallId":"t","toolName":"f",'
    '"arguments":{"a":1.50}}]},{"id":"d","type":"tool_result","content":[],"results":[{"toolCallId":"t","result":null,'
    '"isError":true}]},%s],"response":%s,"toolExecutions":[{"toolName":"f","toolCallId":"t","arguments":{"a":1.50},"result":'
    '[1e2,"\\ud800"],"isError":true,"duration":3.7,"approved":false},{"toolName":"","toolCallId":"","duration":0,"approved":'
    'true}],"usage":%s,"cycles":1,"data":{"a":[1,null]}}'
    % (SAID, SAID, USED % '{"inputTokens":5,"outputTokens":2}'),
    "old": '{"messages":[%s],"cycles":3,"usage":{"inputTokens":18446744073709551615,"outputTokens":1}}' % SAID,
    "many-cycles": '{"messages":[%s],"cycles":99999999999}' % SAID,
    "wrong": '{"messages":[%s],"toolExecutions":{},"usage":7}' % SAID,
    "negative": '{"messages":[%s],"usage":{"inputTokens":-1}}' % SAID,
    "no-name": '{"messages":[%s],"toolExecutions":[{"toolCallId":"t"}]}' % SAID,
    "data-null": '{"messages":[%s],"data":null}' % SAID,
    "list": "[]",
}
SCHEMA = {
    "tool": ('{"type":"object","properties":{"city":{"type":"string","minLength":1},"days":{"type":"integer","minimum":1,'
             '"maximum":14},"unit":{"enum":["C","F",null]}},"required":["city"],"additionalProperties":false}',
             '{"days":3.5,"unit":"K","place":"Rome"}'),
    "tree": ('{"type":"object","properties":{"v":{"type":"number"},"kids":{"type":"array","items":{"$ref":"#"},"maxItems":3}},'
             '"required":["v"]}', '{"v":1,"kids":[{"v":2.0,"kids":[]},{"kids":[{}]}]}'),
    "defs": ('{"$defs":{"a/b":{"const":1},"n":{"$ref":"#/$defs/a~1b"}},"items":{"$ref":"#/$defs/n"}}', "[1,1.0,10e-1,2]"),
    "union": ('{"anyOf":[{"type":"object","required":["a"]},{"type":"null"}],"not":{"required":["b"]},"oneOf":[{"minProperties":1},'
              '{"maxProperties":0}]}', '{"b":1}'),
    "tuple": ('{"prefixItems":[{"type":"string"},true],"items":false,"contains":{"const":1},"maxContains":1,"uniqueItems":true}',
              '["a",1,1,"a"]'),
    "old": ('{"items":[{"minimum":1,"exclusiveMinimum":true}],"additionalItems":{"multipleOf":0.01}}', "[1,19.99,1e-3]"),
    "names": ('{"patternProperties":{"^x-[a-z]{1,8}$":{"type":"string"}},"propertyNames":{"maxLength":6},"additionalProperties":'
              '{"type":"boolean"},"dependentRequired":{"a":["b"]}}', '{"x-a":"","x-toolong":1,"a":true,"c":0}'),
    "choice": ('{"if":{"properties":{"k":{"const":"a"}},"required":["k"]},"then":{"required":["x"]},"else":{"required":["y"]}}',
               '{"k":"a","y":1}'),
    "pattern": (r'{"items":{"pattern":"^(?:a|b{2,3}|[^\\d\\s-]*?)+\\bc?\\u{1F600}$"}}', r'["abbc\ud83d\ude00","","\ud800"]'),
    "numbers": ('{"items":{"type":"integer","minimum":-9007199254740993,"exclusiveMaximum":1e30}}',
                "[1.0,-9007199254740993,9007199254740993e14,1e-1,1e30]"),
    "bounds": ('{"minItems":1,"maxItems":2,"items":{"minLength":2,"maxLength":3}}', r'["\ud83d\ude00","abcd","\u00e9\u00e9"]'),
    "loop": ('{"anyOf":[{"not":{"$ref":"#"}}]}', "1"),
    "wrong": ('{"type":["null",1],"pattern":"(?=a)"}', "1"),
    "deep": ('{"items":{"$ref":"#"}}', "[" * 60 + "]" * 60),
}
SESSION_TIMES = '"createdAt":"2026-02-03T04:05:06Z","updatedAt":"2026-02-03T04:05:07.007+01:00"'
SESSION_THREAD = '"thread":{"id":"t","messages":[%s],%s}'
SESSION_TREE = ('{"rootId":"r","currentId":"a","nodes":[{"id":"a","parentId":"r","name":null,%s,"children":[],"metadata":'
                '{"x":1e9,"uap.branchPoint":1}},{"id":"r",%s,"children":["a"]}]}'
                % (SESSION_THREAD % ("", SESSION_TIMES), SESSION_THREAD % (SAID, SESSION_TIMES)))
SESSION_STATE = ('{"step":1,"messages":[%s],"metadata":{},"reasoning":["so"],"plan":[{"id":"1","description":"","tool":"t",'
                 '"dependsOn":["2"],"status":"pending"},{"id":"2","description":"","dependsOn":[],"status":"failed"}]}' % SAID)
SESSION_POINT = ('{"id":"c","sessionId":"s","timestamp":"2026-02-03T04:05:06Z","step":1,"threadId":"r","state":%s,'
                 '"subAgentStates":{%s},"metadata":{"uap.threadLength":1,"uap.own":[0],"y":{"y":1,"y":2}}}')


def session(points, tree=SESSION_TREE, version="1.0.0"):
    return ('{"version":"%s","id":"s","agentId":"","%s,"threadTree":%s,"checkpoints":[%s],"metadata":{"z":1.50}}'
            % (version, SESSION_TIMES[1:], tree, points))


SESSION = {
    "least": session(""),
    "point": session(SESSION_POINT % (SESSION_STATE, "")),
    "nested": session(SESSION_POINT % (SESSION_STATE, '"call":' + session(SESSION_POINT % (SESSION_STATE, "")))),
    "newer": session("", version="1.1.0"),
    "no-times": session("", tree=SESSION_TREE.replace("," + SESSION_TIMES, "")),
    "ring": session("", tree=SESSION_TREE.replace('"id":"r",', '"id":"r","parentId":"a",')),
    "two-points": session(",".join([SESSION_POINT % (SESSION_STATE, "")] * 2)),
    "tree": SESSION_TREE,
    "tree-no-times": SESSION_TREE.replace("," + SESSION_TIMES, ""),
    "tree-wide": SESSION_TREE.replace('"children":["a"]', '"children":["a","a"]'),
    "tree-far": SESSION_TREE.replace('"uap.branchPoint":1', '"uap.branchPoint":2'),
    "tree-whole": SESSION_TREE.replace(',"uap.branchPoint":1', ""),
}


def put(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


for name, text in READ.items():
    put("json_read", name, text.encode())
for name, data in READ_BYTES.items():
    put("json_read", name, data)
for name, text in SHAPE.items():
    put("json_shape", name, text.encode())
for name, (a, b) in COMPARE.items():
    put("json_compare", name, a.encode() + (b"" if b is None else b"\xff" + b.encode()))
for name, text in NUMBER.items():
    put("json_number", name, text.encode())
for name, data in STRING.items():
    put("json_string", name, data)
    put("utf8", name, data)
for name, text in BASE64.items():
    put("base64", name, text.encode())
for name, text in ISO8601.items():
    put("iso8601", name, text.encode())
for name, text in UUID.items():
    put("uuid", name, text.encode())
for name, (body, tape) in ROW.items():
    put("row", name, body.encode() + (b"" if tape is None else b"\xff" + tape))
for name, (schema, value) in SCHEMA.items():
    put("schema", name, schema.encode() + b"\xff" + value.encode())
for name, text in MESSAGE.items():
    put("message", name, text.encode())
for name, text in PARAMETERS.items():
    put("parameters", name, text.encode())
for name, text in TURN_JSON.items():
    put("turn_json", name, text.encode())
for name, text in SESSION.items():
    put("session", name, text.encode())
for name, text in UI_ORDER.items():
    put("ui_order", name, text.encode())
for n in range(1, 9):
    put("ui_order", f"chosen{n}", bytes((n * 37 + i * i * n) % 251 for i in range(60 * n)))


def talk_bodies(path):
    """The bodies of the answers in a talk file (tests/talk/PROVIDER/NAME.talk) that came with a 200, as fuzz/adapter.h
    wants them: how it comes, where it is cut, and what comes."""
    for section in path.read_bytes().decode().split("\n>> ")[1:]:
        head, _, body = section.partition("\n\n")
        if head.startswith("answers 200") and body:
            how = b"w" if "content-type: application/json" in head else b"s"
            yield how + bytes([len(body) % 251]) + body.encode() + b"\n"


for path in sorted((HERE.parent / "talk").glob("*/*.talk")):
    if (HERE / f"fuzz_{path.parent.name}.c").exists():
        for n, body in enumerate(talk_bodies(path), 1):
            put(path.parent.name, path.stem if n == 1 else f"{path.stem}-{n}", body)
