#!/usr/bin/env python3
"""Prints what happens, as it happens, and comes back where it was when the connection breaks.

    HEAT_URL=http://heat:8004/v1/PROJECT OS_TOKEN=… follow.py [stack=web&nested=true]

With `until=now` in the query it prints what there is, and ends.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request

QUERY = sys.argv[1] if len(sys.argv) > 1 else ""


def frames(response):
    """The frames of a stream of Server-Sent Events, each as its fields."""
    fields = {}
    for line in response:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        elif fields:
            yield fields
            fields = {}


def follow(last):
    """Prints events after a position, and gives back how far it came."""
    headers = {"X-Auth-Token": os.environ["OS_TOKEN"]}
    if last:
        headers["Last-Event-ID"] = last
    request = urllib.request.Request(f"{os.environ['HEAT_URL']}/feed?{QUERY}", headers=headers)
    with urllib.request.urlopen(request) as response:
        for frame in frames(response):
            last = frame.get("id", last)
            data = json.loads(frame.get("data", "null"))
            if frame.get("event") == "end":
                print(f"cut after {data['after']}: {data['why']}", file=sys.stderr)
            elif data:
                who = (data["caller"] or {}).get("user_name", "-")
                print(data["position"], data["at"], who, data["type"], flush=True)
    return last


def main():
    for name in ("HEAT_URL", "OS_TOKEN"):
        if not os.environ.get(name):
            sys.exit(f"{name} is not set\n{__doc__}")
    last = None
    while True:
        try:
            last = follow(last)
        except urllib.error.HTTPError as error:
            sys.exit(f"{error}: {error.read().decode()}")
        except OSError as error:
            print(f"{error}; again in a second", file=sys.stderr)
        else:
            if "until=" in QUERY:
                return
        time.sleep(1)


if __name__ == "__main__":
    main()
