#!/usr/bin/env -S python3 -I -S
# SPDX-License-Identifier: Apache-2.0
"""record.py CONDITION…: checks one JSON value of `bailiff --json` on stdin; prints every condition that does not hold.

A condition is PATH OP VALUE without spaces around OP. PATH is members joined by dots, looked up in the record when the value has one,
otherwise in the value itself; stdout and stderr are the command's bytes. OP: = != < > (numbers), ~ (holds the text or the element),
?= (absent or equal). VALUE is JSON, or text. An absent member equals the value `absent`."""
import base64
import json
import re
import sys

value = json.load(sys.stdin)
record = value.get("record") or value
for name in ("stdout", "stderr"):
    if f"{name}_base64" in value:
        record[name] = base64.b64decode(value[f"{name}_base64"]).decode("utf-8", "backslashreplace")


def look(where, path):
    for part in path.split("."):
        if isinstance(where, dict) and part in where:
            where = where[part]
        elif isinstance(where, list) and part.isdigit() and int(part) < len(where):
            where = where[int(part)]
        else:
            return "absent"
    return where


def parse(text):
    try:
        return json.loads(text)
    except ValueError:
        return text.encode("utf-8").decode("unicode_escape") if "\\" in text else text


bad = 0
for condition in sys.argv[1:]:
    match = re.match(r"([A-Za-z0-9_.]+)(\?=|!=|=|<|>|~)(.*)\Z", condition, re.S)
    if not match:
        sys.exit(f"record.py: no condition: {condition}")
    path, op, wanted = match.group(1), match.group(2), parse(match.group(3))
    found = look(record, path)
    if found == "absent":
        found = look(value, path)
    if isinstance(found, str) and not isinstance(wanted, str) and op in ("=", "!=", "~", "?="):
        wanted = match.group(3)
    holds = {
        "=": lambda: found == wanted,
        "?=": lambda: found in (wanted, "absent"),
        "!=": lambda: found != wanted,
        "<": lambda: found != "absent" and float(found) < float(wanted),
        ">": lambda: found != "absent" and float(found) > float(wanted),
        "~": lambda: found != "absent" and wanted in found,
    }[op]()
    if not holds:
        bad += 1
        print(f"{condition}: found {json.dumps(found)[:400]}")
sys.exit(1 if bad else 0)
