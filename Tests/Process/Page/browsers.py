# SPDX-License-Identifier: Apache-2.0

"""Three browsers of other people under one set of words: Chromium and WebKitGTK by WebDriver, Firefox by BiDi."""

import base64
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time

import websocket
from ports import free_port
from selenium import webdriver
from selenium.common import exceptions
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By

PATIENCE = 300
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Right": "\ue014", "Left": "\ue012", "Home": "\ue011", "Escape": "\ue00c",
        "PageUp": "\ue00e", "Space": " "}

# Keeps violations of the page's policy and errors of its scripts, from before the first script runs.
WATCH = """(() => { window.violations = []; window.failures = [];
 document.addEventListener('securitypolicyviolation', (e) => violations.push(e.violatedDirective + ' ' + e.blockedURI));
 window.addEventListener('error', (e) => failures.push(String(e.message))); })()"""

# The value of an expression as soon as it is true, or null after half a second.
LOOK = """for (const end = Date.now() + 500; Date.now() < end;) {
  let found = null;
  try { found = (() => { return %s; })(); } catch (error) { found = null; }
  if (found) return found;
  await new Promise((resume) => setTimeout(resume, 30));
} return null;"""


class Gone(Exception):
    """The document in which a function ran is gone."""


class Browser:
    """A subclass has `open`, `arrived` (waits until a page is loaded whose address begins so), `look` (the value of an
    expression), `run` (a function body with `return`), `resize`, `keys`, `drag`, `image`, `close`."""

    watches = True

    def wait(self, condition, patience=PATIENCE):
        """Waits until an expression is true, also across navigations; its value."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            try:
                found = self.look(condition)
            except (exceptions.WebDriverException, Gone):
                continue
            if found:
                return found
        raise AssertionError((condition, self.run("return document.body ? document.body.innerText : ''")))

    def shown(self, name, patience=PATIENCE):
        return self.wait(f"document.getElementById('{name}') && !document.getElementById('{name}').hidden", patience)

    def text(self):
        return self.run("const s = document.querySelector('[role=status]'); return s ? s.textContent : ''")

    def centre(self, name):
        return self.run(f"const r = document.getElementById('{name}').getBoundingClientRect();"
                        "return [r.left + r.width / 2, r.top + r.height / 2, r.width, r.height, r.left]")

    def press(self, *names):
        self.keys("".join(KEYS.get(name, name) for name in names))

    def images(self):
        return self.run("return ['picture', 'piece'].map((name) => document.getElementById(name).src.split(',')[1])")


class WebDriver(Browser):
    def __init__(self, driver):
        self.driver = driver
        driver.set_script_timeout(PATIENCE)
        driver.set_page_load_timeout(PATIENCE)

    def open(self, address):
        self.driver.get(address)
        if not self.watches:
            self.run(WATCH)

    def arrived(self, start):
        self.wait(f"location.href.startsWith({json.dumps(start)}) && document.readyState === 'complete'")

    def look(self, condition):
        return self.call(LOOK % condition)

    def run(self, body, *arguments):
        return self.driver.execute_script(body, *arguments)

    def call(self, body):
        return self.driver.execute_async_script(
            "const done = arguments[0]; (async () => { %s })().then(done, (e) => done(null));" % body)

    def keys(self, text):
        builder = ActionBuilder(self.driver)
        builder.key_action.send_keys(text)
        builder.perform()

    def drag(self, start, end):
        builder = ActionBuilder(self.driver)
        builder.pointer_action.move_to_location(*map(round, start)).pointer_down()
        builder.pointer_action.move_to_location(*map(round, end)).pointer_up()
        builder.perform()

    def click(self, name):
        self.driver.find_element(By.ID, name).click()

    def image(self):
        return self.driver.get_screenshot_as_png()

    def cookie(self, name):
        return self.driver.get_cookie(name)

    def forget(self):
        """Drops the cookies of the page that is shown."""
        self.driver.delete_all_cookies()

    def close(self):
        self.driver.quit()


class Chromium(WebDriver):
    def __init__(self):
        options = webdriver.ChromeOptions()
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=700,900",
                     "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"):
            options.add_argument(word)
        options.accept_insecure_certs = True
        service = webdriver.ChromeService("/usr/bin/chromedriver", port=free_port(), log_output=subprocess.DEVNULL)
        super().__init__(webdriver.Chrome(options, service))
        self.command("Page.addScriptToEvaluateOnNewDocument", source=WATCH)

    def command(self, name, **values):
        return self.driver.execute_cdp_cmd(name, values)

    def resize(self, width, height):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                     mobile=False)

    def media(self, **features):
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def cookies(self, on):
        self.command("Emulation.setDocumentCookieDisabled", disabled=not on)

    def scripts(self, on):
        self.command("Emulation.setScriptExecutionDisabled", value=not on)


class WebKit(WebDriver):
    """WebKitGTK in a window of a display of its own."""

    watches = False

    def __init__(self):
        read, write = os.pipe()
        self.display = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1024x900x24", "-nolisten", "tcp"], pass_fds=[write],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as told:
            number = told.readline().strip()
        self.home = tempfile.mkdtemp(prefix="proofkit-webkit-")
        environment = os.environ | {"DISPLAY": f":{number}", "HOME": self.home, "GDK_BACKEND": "x11",
                                    "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1", "NO_AT_BRIDGE": "1",
                                    "WEBKIT_DISABLE_COMPOSITING_MODE": "1", "LIBGL_ALWAYS_SOFTWARE": "1"}
        options = webdriver.WebKitGTKOptions()
        options.binary_location = next(map(str, pathlib.Path("/usr/lib").glob("*/webkit2gtk-4.1/MiniBrowser")))
        options.add_argument("--automation")
        options.set_capability("acceptInsecureCerts", True)
        service = webdriver.WebKitGTKService("/usr/bin/WebKitWebDriver", port=free_port(), env=environment,
                                             log_output=subprocess.DEVNULL)
        super().__init__(webdriver.WebKitGTK(options, service=service))

    def resize(self, width, height):
        self.driver.set_window_size(width, height)
        inner = self.run("return [innerWidth, innerHeight]")
        self.driver.set_window_size(2 * width - inner[0], 2 * height - inner[1])

    def close(self):
        super().close()
        self.display.terminate()
        self.display.wait(timeout=PATIENCE)
        shutil.rmtree(self.home, ignore_errors=True)


class Firefox(Browser):
    """Firefox over WebDriver BiDi (W3C), which needs no driver beside it.

    It loses what meets a navigation: a navigation that begins before the one under way has loaded never happens, and a
    function whose document goes away gets no answer. So who leaves a page waits until the next one has loaded.
    """

    def __init__(self, **preferences):
        self.profile = tempfile.mkdtemp(prefix="proofkit-firefox-")
        preferences = {"remote.active-protocols": 1, "browser.shell.checkDefaultBrowser": False,
                       "datareporting.policy.dataSubmissionEnabled": False, "app.update.enabled": False,
                       "ui.systemUsesDarkTheme": 0, "layout.css.prefers-color-scheme.content-override": 1,
                       "network.captive-portal-service.enabled": False, "browser.region.update.enabled": False,
                       "focusmanager.testmode": True, "devtools.jsonview.enabled": False} | preferences
        lines = [f'user_pref("{name}", {json.dumps(value)});' for name, value in preferences.items()]
        (pathlib.Path(self.profile) / "user.js").write_text("\n".join(lines))
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--no-remote", "--profile", self.profile, "--remote-debugging-port", "0",
             # A document that is named here has the focus of the window, not the address bar: a button without the
             # focus takes no key.
             "data:text/html,start"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"HOME": self.profile, "MOZ_CRASHREPORTER_DISABLE": "1"})
        address = next(found[1] for line in self.process.stderr
                       if (found := re.search(r"WebDriver BiDi listening on (ws://\S+)", line)))
        self.reader = threading.Thread(target=lambda: [None for _ in self.process.stderr], daemon=True)
        self.reader.start()
        self.numbers = itertools.count(1)
        self.socket = websocket.create_connection(
            address + "/session", timeout=2 * PATIENCE, suppress_origin=True, http_no_proxy=["*"])
        # Addresses of the pages that have loaded since `open`, the one it asked for first.
        self.context, self.loaded = None, []
        self.command("session.new", capabilities={"alwaysMatch": {"acceptInsecureCerts": True}})
        self.command("session.subscribe", events=["browsingContext.load"])
        self.context = self.command("browsingContext.getTree")["contexts"][0]["context"]
        # Keys reach a document that has the focus of its window.
        self.command("browsingContext.activate", context=self.context)
        self.command("script.addPreloadScript", functionDeclaration=f"() => {{ {WATCH} }}")

    def command(self, method, **values):
        return self.answer(self.send(method, **values))

    def send(self, method, **values):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": values}))
        return number

    def answer(self, number, until_loaded=False):
        """The answer to a command. `until_loaded`: a page that loads before it ends the wait."""
        while (message := self.receive()).get("id") != number:
            if until_loaded and self.is_loaded(message):
                raise Gone(message)
        if message["type"] != "success":
            raise Gone(message)
        return message["result"]

    def receive(self):
        message = json.loads(self.socket.recv())
        if self.is_loaded(message):
            self.loaded.append(message["params"]["url"])
        return message

    def is_loaded(self, message):
        """Whether a page of the window has loaded; one of a frame does not count."""
        return message.get("method") == "browsingContext.load" and message["params"]["context"] == self.context

    def open(self, address):
        self.loaded.clear()
        self.command("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def arrived(self, start):
        while not any(address.startswith(start) for address in self.loaded):
            self.receive()

    def look(self, condition):
        return self.call(LOOK % condition, until_loaded=True)

    def evaluate(self, function, until_loaded=False):
        answer = self.answer(self.send(
            "script.callFunction", functionDeclaration=function, awaitPromise=True, target={"context": self.context}),
            until_loaded)
        assert answer["type"] == "success", answer
        return json.loads(answer["result"].get("value") or "null")

    def run(self, body):
        return self.evaluate("() => JSON.stringify((() => { %s })() ?? null)" % body)

    def call(self, body, until_loaded=False):
        return self.evaluate("async () => JSON.stringify((await (async () => { %s })()) ?? null)" % body,
                             until_loaded)

    def resize(self, width, height):
        self.command("browsingContext.setViewport", context=self.context,
                     viewport={"width": width, "height": height}, devicePixelRatio=1)

    def keys(self, text):
        actions = [{"type": kind, "value": letter} for letter in text for kind in ("keyDown", "keyUp")]
        self.command("input.performActions", context=self.context,
                     actions=[{"type": "key", "id": "keys", "actions": actions}])

    def drag(self, start, end):
        steps = [{"type": "pointerMove", "x": round(start[0]), "y": round(start[1])},
                 {"type": "pointerDown", "button": 0},
                 {"type": "pointerMove", "x": round(end[0]), "y": round(end[1])}, {"type": "pointerUp", "button": 0}]
        self.command("input.performActions", context=self.context,
                     actions=[{"type": "pointer", "id": "mouse", "actions": steps}])

    def click(self, name):
        place = self.centre(name)[:2]
        self.drag(place, place)

    def image(self):
        return base64.b64decode(self.command("browsingContext.captureScreenshot", context=self.context)["data"])

    def cookie(self, name):
        found = self.command("storage.getCookies", filter={"name": name})["cookies"]
        return found[0] if found else None

    def forget(self):
        """Drops all cookies."""
        self.command("storage.deleteCookies")

    def close(self):
        self.command("browser.close")
        self.socket.close()
        self.process.wait(timeout=PATIENCE)
        self.reader.join(timeout=PATIENCE)
        self.process.stderr.close()
        shutil.rmtree(self.profile, ignore_errors=True)
