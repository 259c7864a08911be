# SPDX-License-Identifier: Apache-2.0

"""The clients of the demonstration: an app with the SDK, programs that send by curl, and a person in Chromium."""

import hashlib
import json
import re
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from parts import json_of
from stage import BIN, PATIENCE, ROOT, Trouble

sys.path.append(str(ROOT / "Tests" / "Process" / "Page"))
from pictures import solve  # noqa: E402

FOLDER = "/.well-known/proofkit/"


def challenge_of(fields):
    """The id in the fields of an answer."""
    if "proof-challenge" not in fields:
        raise Trouble("the gate set no challenge")
    return fields["proof-challenge"]


class Client:
    """Counts what a client sent, what it got, and what that cost it."""

    def __init__(self, name, stage, site):
        self.name, self.stage, self.site = name, stage, site
        self.sent = self.passed = self.hashes = 0
        self.seconds = 0.0
        self.note = ""

    def count(self, status):
        self.sent += 1
        self.passed += status == 200

    @property
    def refused(self):
        return self.sent - self.passed


class App(Client):
    """The sample app of `make demo`: everything about proofs and challenges is the SDK's."""

    def install(self):
        stage, site = self.stage, self.site
        stage.write("phone/app/account", stage.operate("config", "show")["signed"])
        stage.write("phone/app/api", site.host)
        stage.write("phone/app/authority.pem", (stage.folder / "authority.pem").read_text())
        stage.write("phone/app/version", "1.0\n")
        stage.write("phone/app/views/main", "a big round button\n")
        self.secret = hashlib.sha256(str(stage.folder).encode()).hexdigest()[:32]
        stage.write("phone/paired/user", f"ada {self.secret}\n")
        (stage.folder / "phone/storage").mkdir(mode=0o700)
        stage.operate("registration", "add", BIN / "proof-demo", "--bundle", stage.path("phone/app"))
        self.process = stage.start("the app", BIN / "proof-demo", "app", "--shop", "--json", "--home",
                                   stage.path("phone"))
        self.process.wait("ready")

    def do(self, words):
        """The app's answer to a verb, and the statuses that the gate gave to its requests."""
        after, mark = len(self.site.gate.lines), len(self.process.lines)
        start = time.monotonic()
        self.process.tell(words)
        answer = self.process.wait(lambda line: "outcome" in line, mark)
        self.seconds += time.monotonic() - start
        is_judged = answer["outcome"] == "served"
        statuses = [status for status, _ in self.site.judgements(after, lambda line: line["status"] == 200)
                    ] if is_judged else []
        for status in statuses:
            self.count(status)
        return answer, statuses


class Program(Client):
    """A program that sends by curl, from an address of its own."""

    def __init__(self, name, stage, site, address):
        super().__init__(name, stage, site)
        self.address = address

    def send(self, target, fields=(), method="GET", body=None):
        """Status, header fields by lower-case name, and body of the answer."""
        start = time.monotonic()
        words = ["curl", "--silent", "--show-error", "--include", "--ipv4", "--noproxy", "*", "--interface",
                 self.address, "--cacert", self.stage.path("authority.pem"), "--max-time", str(PATIENCE),
                 "--request", method, *(word for name, value in fields for word in ("--header", f"{name}: {value}"))]
        if body is not None:
            words += ["--data-binary", body]
        text = self.stage.run(*words, self.site.origin + target)
        self.seconds += time.monotonic() - start
        head, _, rest = text.replace("\r\n", "\n").partition("\n\n")
        lines = head.split("\n")
        status = int(lines[0].split(" ")[1])
        self.count(status)
        return status, {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}, rest

    def solve(self, challenge):
        """The solution by the native solver, and how many hashes it took."""
        start = time.monotonic()
        solution, hashes, _ = self.stage.run(BIN / "proof-demo", "attack", "solve", "--challenge", challenge).split()
        self.seconds += time.monotonic() - start
        self.hashes += int(hashes)
        return solution, int(hashes)

    def try_picture(self):
        """One try of a program that looks at the slider's picture: the statuses for picture and answer."""
        target = f"{FOLDER}challenges/person"
        _, fields, _ = self.send(target)
        asked = {"challenge": challenge_of(fields), "method": "GET", "target": target}
        _, _, document = self.send(f"{FOLDER}page?{urllib.parse.urlencode(asked)}")
        data = re.search(r'id="data">(.*?)</script>', document)
        work = json.loads(data[1]).get("round", {}).get("work") if data else None
        if not work:
            return [self.post("answer", asked | {"answer": f"slider 0 {'A' * 22}"})[0]]
        status, shown = self.post("picture", asked | {
            "work": work["challenge"], "answer": self.solve(work["challenge"])[0]})
        if status != 200:
            return [status]
        start = time.monotonic()
        place = solve(shown["picture"], shown["piece"])
        self.seconds += time.monotonic() - start
        return [200, self.post("answer", asked | {"answer": f"slider {place} {shown['mark']}"})[0]]

    def post(self, name, members):
        status, _, body = self.send(FOLDER + name, [("Content-Type", "application/json")], "POST", json.dumps(members))
        return status, json_of(body)


class Person(Client):
    """A person in Chromium without a window, by WebDriver (W3C). The eyes are the program that reads pictures."""

    session = ""

    def start(self):
        driver = shutil.which("chromedriver")
        if driver is None:
            raise Trouble("chromedriver is missing: apt-get install chromium chromium-driver")
        self.driver = self.stage.start("chromedriver", driver, "--port=0")
        line = self.driver.wait("started successfully")["event"]
        self.address = f"http://127.0.0.1:{re.search(r'port ([0-9]+)', line)[1]}"
        words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--window-size=700,900", "--disable-background-networking",
                 f"--user-data-dir={self.stage.path('chromium')}"]
        told = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "acceptInsecureCerts": True, "goog:chromeOptions": {"args": words},
            "timeouts": {"pageLoad": 60_000, "script": 60_000}}}})
        self.session = f"/session/{told['sessionId']}"

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=2 * PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise Trouble(f"{method} {path}: {error.read().decode()}") from None

    def look(self, expression):
        """Waits until an expression is true, also across navigations; its value."""
        end = time.monotonic() + PATIENCE
        script = """const [text, done] = arguments; const end = Date.now() + 500; const look = () => {
          let found = null; try { found = eval(text); } catch (error) { found = null; }
          if (found || Date.now() > end) done(found); else setTimeout(look, 20); }; look();"""
        script = script.replace("eval(text)", f"({expression})")
        while time.monotonic() < end:
            try:
                found = self.ask("POST", f"{self.session}/execute/async", {"script": script, "args": [""]})
            except Trouble:
                # The document went away while the script ran.
                continue
            if found:
                return found
        raise Trouble(f"the browser never showed {expression}")

    def move(self, *steps):
        """Moves, presses and releases the mouse."""
        self.ask("POST", f"{self.session}/actions", {"actions": [{
            "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": list(steps)}]})

    def read(self, target):
        """Opens a page, moves the slider by mouse if it comes, and returns the heading and the slider's tries."""
        start, tries = time.monotonic(), 0
        self.ask("POST", f"{self.session}/url", {"url": self.site.origin + target})
        shown = ("(() => { const one = (name) => document.querySelector(name);"
                 " if (one('#puzzle') && !one('#puzzle').hidden) return one('#picture').src;"
                 " if (one('a[href*=\"/.well-known/proofkit/page\"]')) return 'page';"
                 " return one('h1') && !one('#data') && 'read'; })()")
        found = self.look(shown)
        self.count(200 if found == "read" else 428)
        while found != "read":
            held = json.dumps(found)
            if found == "page":
                self.click("a[href*='/.well-known/proofkit/page']")
            else:
                tries += 1
                self.slide()
            found = self.look(f"{shown} !== {held} && {shown}")
        if tries:
            self.count(200)
        self.seconds += time.monotonic() - start
        return self.look("document.querySelector('h1').innerText"), tries

    def slide(self):
        picture, piece, x, y, width, thumb = self.look(
            "(() => { const r = document.getElementById('slider').getBoundingClientRect();"
            " return [...['picture', 'piece'].map((n) => document.getElementById(n).src.split(',')[1]),"
            " r.left, r.top + r.height / 2, r.width, 16]; })()")
        place = solve(picture, piece)
        for thumb in (16, 20, 14, 24, 28):
            # The thumb's middle goes from half its width to the slider's width less that.
            points = [round(x + thumb / 2), round(x + thumb / 2 + place * (width - thumb) / 236)]
            first, last = ({"type": "pointerMove", "duration": 100, "x": point, "y": round(y)} for point in points)
            self.move(first, {"type": "pointerDown", "button": 0}, last, {"type": "pointerUp", "button": 0})
            value = self.look("document.getElementById('slider').value + ' '")
            if abs(int(value) - place) <= 3:
                break
            self.look("(document.getElementById('slider').value = 0, true)")
        self.click("#submit")

    def click(self, selector):
        x, y = self.look(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                         " return [r.left + r.width / 2, r.top + r.height / 2]; })()")
        self.move({"type": "pointerMove", "duration": 100, "x": round(x), "y": round(y)},
                  {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})

    def cookie(self, name):
        found = self.ask("GET", f"{self.session}/cookie")
        return next((one for one in found if one["name"] == name), None)

    def close(self):
        """Ends the browser, if there is one."""
        session, self.session = self.session, ""
        if session:
            self.ask("DELETE", session)
