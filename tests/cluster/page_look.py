#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Looks at the page in headless Chromium over its DevTools pipe.

    page_look.py URL WIDTHxHEIGHT OUT.png [EXPRESSION | keys:KEY,KEY..]..

Waits until the page has drawn the fabric and EXPRESSION (JavaScript, true when
there is none) is true, then takes a screenshot, and says "seen 1"; then for the
next one, on the same page.  "keys:Tab,a,Enter" presses keys instead, as the
keyboard does.  Prints when the browser painted first and when the
fabric was drawn (ms since the navigation, by the browser's own performance
entries), console errors and exceptions, and fails if there were any of these.
PAGE_PATIENCE: seconds to wait for each.
PAGE_PROFILE=yes: also where the time went until the first EXPRESSION was true, by
the browser's own sums and by its profile of the script (which costs time itself)."""
import base64
import json
import os
import select
import subprocess
import sys
import tempfile
import time

PATIENCE = int(os.environ.get("PAGE_PATIENCE", "90"))
PAINTS = """JSON.stringify([...performance.getEntriesByType("paint"),
    ...performance.getEntriesByName("fabric drawn")].map(
        e => e.name + " " + Math.round(e.startTime) + " ms"))"""


class Browser:
    def __init__(self, profile, width, height):
        down, self.down = os.pipe()
        self.up, up = os.pipe()
        for fd in (down, up):
            os.set_inheritable(fd, True)
        # The shell places the ends at 3 and 4, whatever they are here.
        self.child = subprocess.Popen(
            ["sh", "-c", 'exec chromium "$@" 3<&%d 4>&%d' % (down, up), "sh",
             "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
             "--disable-background-networking", "--remote-debugging-pipe",
             "--user-data-dir=" + profile,
             "--window-size=%d,%d" % (width, height), "about:blank"],
            close_fds=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(down)
        os.close(up)
        self.number, self.rest, self.wrong = 0, b"", []

    def next(self, until):
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.up], [], [], left)[0]:
                raise TimeoutError("chromium does not answer")
            more = os.read(self.up, 1 << 16)
            if not more:
                raise EOFError("chromium ended")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.down, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            m = self.next(until)
            if m.get("id") == self.number:
                if "error" in m:
                    raise RuntimeError(m["error"]["message"])
                return m["result"]
            self.note(m)

    def note(self, m):
        p = m.get("params", {})
        if m.get("method") == "Runtime.exceptionThrown":
            self.wrong.append(json.dumps(p["exceptionDetails"])[:500])
        elif m.get("method") == "Runtime.consoleAPICalled":
            if p["type"] in ("error", "warning", "assert"):
                self.wrong.append(json.dumps(p["args"])[:500])
        elif m.get("method") == "Log.entryAdded":
            if p["entry"]["level"] in ("error", "warning"):
                self.wrong.append(p["entry"]["text"])


def wait_true(browser, s, expression):
    wanted = "Boolean(document.body && document.body.dataset.ready && (%s))" \
        % expression
    until = time.monotonic() + PATIENCE
    while not browser.ask("Runtime.evaluate", s, expression=wanted)[
            "result"].get("value"):
        if time.monotonic() > until:
            browser.wrong.append("never true: " + wanted)
            return False
        select.select([], [], [], 0.2)
    return True


# Windows' codes of the keys that are no text, and the text of Enter.
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38,
        "ArrowRight": 39, "ArrowDown": 40, "Delete": 46}


def press(browser, s, keys):
    for key in keys.split(","):
        shift = key.startswith("Shift+")
        key = key.removeprefix("Shift+")
        event = {"key": key, "modifiers": 8 if shift else 0,
                 "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
        if key in KEYS:
            event["code"] = key
        text = {"Enter": "\r"}.get(key, "" if key in KEYS else key)
        browser.ask("Input.dispatchKeyEvent", s, text=text,
                    type="keyDown" if text else "rawKeyDown", **event)
        browser.ask("Input.dispatchKeyEvent", s, type="keyUp", **event)


def self_times(profile):
    """Of each function what it took itself, in ms, the most first."""
    name, took = {}, {}
    for n in profile["nodes"]:
        f = n["callFrame"]
        name[n["id"]] = "%s:%d" % (f["functionName"] or "(a function)",
                                   f["lineNumber"] + 1)
    for i, us in zip(profile["samples"], profile["timeDeltas"]):
        took[name[i]] = took.get(name[i], 0) + us / 1000
    return sorted(took.items(), key=lambda t: -t[1])


def tell_profile(browser, s):
    sums = browser.ask("Performance.getMetrics", s)["metrics"]
    print("profile: " + ", ".join(
        "%s %d ms" % (m["name"], m["value"] * 1000) for m in sums
        if m["name"].endswith("Duration") and m["value"] >= 0.001))
    for name, ms in self_times(browser.ask("Profiler.stop", s)["profile"])[:16]:
        print("profile: %8.1f ms %s" % (ms, name))


def look(browser, url, width, height, out, expressions):
    target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
    s = browser.ask("Target.attachToTarget", targetId=target,
                    flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Log"):
        browser.ask(domain + ".enable", s)
    browser.ask("Emulation.setDeviceMetricsOverride", s, width=width,
                height=height, deviceScaleFactor=1, mobile=width < 600)
    if os.environ.get("PAGE_DARK"):
        browser.ask("Emulation.setEmulatedMedia", s, features=[
            {"name": "prefers-color-scheme", "value": "dark"}])
    browser.ask("Emulation.setFocusEmulationEnabled", s, enabled=True)
    profiled = os.environ.get("PAGE_PROFILE")
    if profiled:
        for method in ("Performance.enable", "Profiler.enable",
                       "Profiler.start"):
            browser.ask(method, s)
    browser.ask("Page.navigate", s, url=url)
    for i, expression in enumerate(expressions or ["true"]):
        if expression.startswith("keys:"):
            press(browser, s, expression[5:])
            continue
        good = wait_true(browser, s, expression)
        if profiled:
            tell_profile(browser, s)
            profiled = None
        shot = browser.ask("Page.captureScreenshot", s, format="png")["data"]
        name = out if i == 0 else out.replace(".png", "-%d.png" % (i + 1))
        with open(name, "wb") as f:
            f.write(base64.b64decode(shot))
        if not good:
            break
        print("seen %d" % (i + 1), flush=True)
    paints = browser.ask("Runtime.evaluate", s, expression=PAINTS)
    print("; ".join(json.loads(paints["result"]["value"])))
    said = browser.ask("Runtime.evaluate", s,
                       expression="document.getElementById('sum').textContent")
    print(said["result"].get("value"))


def main():
    url, size, out = sys.argv[1:4]
    width, height = (int(n) for n in size.split("x"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile, width, height)
        try:
            look(browser, url, width, height, out, sys.argv[4:])
        finally:
            try:
                browser.ask("Browser.close")
            except (OSError, EOFError, TimeoutError):
                browser.child.kill()
            browser.child.wait()
    for w in browser.wrong:
        print("error:", w)
    return 1 if browser.wrong else 0


sys.exit(main())
