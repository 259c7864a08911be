# SPDX-License-Identifier: Apache-2.0

"""A browser without a window, spoken to by WebDriver (W3C), with the standard library alone."""

import json
import re
import subprocess
import tempfile
import urllib.error
import urllib.request

# A page that shows nothing by then is blank.
PAGE_SECONDS = 120


class Browser:
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory()
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], text=True, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT)
        for line in self.driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                self.address = f"http://127.0.0.1:{found[1]}"
                break
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                            f"--user-data-dir={self.profile.name}"]}
        self.session = ""
        told = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "timeouts": dict.fromkeys(("pageLoad", "script"), PAGE_SECONDS * 1000)}}})
        self.session = f"/session/{told['sessionId']}"

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=2 * PAGE_SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()}") from None

    def open(self, url):
        self.ask("POST", f"{self.session}/url", {"url": url})

    def headings(self):
        """The text of the page's headings, as soon as there is one in view; empty if none comes."""
        # The page's own clock ends the wait.
        return self.ask("POST", f"{self.session}/execute/async", {"args": [PAGE_SECONDS * 500], "script": """
            const [limit, done] = arguments;
            const look = () => [...document.querySelectorAll('h1')].map(h => h.innerText.trim()).filter(t => t);
            if (look().length) return done(look());
            const end = setTimeout(() => { watch.disconnect(); done([]); }, limit);
            const watch = new MutationObserver(() => {
              if (!look().length) return;
              clearTimeout(end); watch.disconnect(); done(look());
            });
            watch.observe(document, {childList: true, subtree: true, characterData: true});"""})

    def text(self):
        return self.ask("POST", f"{self.session}/execute/sync", {
            "args": [], "script": "return document.body.innerText"})

    def links(self):
        return self.ask("POST", f"{self.session}/execute/sync", {
            "args": [], "script": "return [...document.querySelectorAll('a')].map(a => a.href)"})

    def close(self):
        try:
            if self.session:
                self.ask("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()
            self.profile.cleanup()
