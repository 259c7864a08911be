# SPDX-License-Identifier: Apache-2.0

"""The page of challenges in three browsers, behind nginx over TLS: kinds, layouts, languages, keyboard, codes, rules of
axe-core, and the content security policy."""

import json
import os
import pathlib
import unittest

import axe_core_python
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.wait import WebDriverWait

from browsers import PATIENCE, Chromium, Firefox, WebKit
from pictures import solve
from site_of_gate import FOLDER, ROOT, Listener, PageSite

AXE = (pathlib.Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
IMAGES = ROOT / "docs/images"
LANGUAGES = {"en": "Security check", "zh": "安全验证", "de": "Sicherheitsprüfung", "fr": "Contrôle de sécurité",
             "es": "Control de seguridad", "ar": "التحقق الأمني"}


def setUpModule():
    global site
    site = PageSite("--page-origin", "https://localhost")
    unittest.addModuleCleanup(site.close)


class InBrowser:
    """The properties that hold in each browser."""

    @classmethod
    def setUpClass(cls):
        cls.browser = cls.start()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        # A fresh gate counts tries and pictures anew.
        site.restart_gate(*self.options())
        self.browser.resize(360, 360)

    def options(self):
        return ("--page-origin", site.origin)

    def open(self, name, challenge=None, **more):
        self.browser.open(site.page(name, challenge, **{"return": "/hello"} | more))

    def clean(self):
        """No violation of the policy, no error of a script."""
        found = self.browser.run("return [window.violations || [], window.failures || []]")
        self.assertEqual(found, [[], []])

    def axe(self):
        """No rule of axe-core fails. Its own script is put in by the driver, past the page's policy."""
        found = self.browser.call(AXE + """;
          const found = await axe.run(document, {resultTypes: ['violations'], preload: false});
          return found.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html).join(' '));""")
        self.assertEqual(found, [])

    def fits(self):
        """Nothing is wider or higher than the view."""
        found = self.browser.run("const e = document.documentElement;"
                                 "return [e.scrollWidth - innerWidth, e.scrollHeight - innerHeight]")
        self.assertLessEqual(max(found), 0, found)

    def place(self):
        """The place of the gap, by the attacker who reads pictures."""
        return solve(*self.browser.images())

    def slide_by_keys(self, place):
        self.browser.run("document.getElementById('slider').focus()")
        self.browser.press("Home")
        self.browser.press(*["Right"] * place)
        self.assertEqual(self.browser.run("return Number(document.getElementById('slider').value)"), place)

    def ended(self, name="person"):
        """The result of a page without a host: it goes back, and the cookie that it got opens what was closed."""
        self.browser.wait("location.pathname === '/hello' && document.body.innerText")
        found = self.browser.call("const r = await fetch('%schallenges/%s'); return [r.status, await r.text()]"
                                  % (FOLDER, name))
        self.assertEqual(found[0], 200)
        self.assertIn("clearance", found[1])

    def hosted(self):
        """Puts the page into a frame of the operator's page, and waits for the result that it posts."""
        got = self.browser.wait("window.got && got.length && got")
        self.assertEqual(len(got), 1)
        self.assertEqual(got[0][0], site.origin)
        return json.loads(got[0][1])

    def frame(self, name, challenge=None, size="360 360", **more):
        self.browser.open(site.origin + "/frame")
        self.browser.run("const f = document.getElementById('f'); [f.width, f.height] = '%s'.split(' ');"
                         "f.style.border = 0;" % size)
        address = site.page(name, challenge, origin=site.origin, **more)
        self.browser.run(f"window.got = []; document.getElementById('f').src = {json.dumps(address)};")

    # MARK: kinds

    def test_work_is_solved_silently_and_the_browser_keeps_a_cookie(self):
        self.open("work")
        self.ended("work")
        cookie = self.browser.cookie("__Host-proof-clearance")
        self.assertTrue(cookie["httpOnly"] and cookie["secure"])

    def test_memory_work_is_solved(self):
        self.open("memory")
        self.ended("memory")

    def test_a_slider_is_solved_by_mouse(self):
        self.open("person")
        self.browser.shown("puzzle")
        self.fits()
        self.axe()
        self.clean()
        place = self.place()
        x, y, width, _, left = self.browser.centre("slider")
        # The thumb's middle goes from half its width to the slider's width less that.
        for thumb in (16, 20, 14, 24, 28):
            self.browser.drag((left + thumb / 2, y), (left + thumb / 2 + place * (width - thumb) / 236, y))
            value = self.browser.run("return Number(document.getElementById('slider').value)")
            if abs(value - place) <= 4:
                break
            self.browser.run("const s = document.getElementById('slider'); s.value = 0;")
        self.assertLessEqual(abs(value - place), 4)
        self.assertIn(str(value), self.browser.run(
            "return document.getElementById('slider').getAttribute('aria-valuetext')"))
        self.browser.click("submit")
        self.ended()

    def test_a_slider_is_solved_by_keyboard_alone(self):
        self.open("person")
        self.browser.shown("puzzle")
        self.slide_by_keys(self.place())
        self.browser.press("Enter")
        self.ended()

    def test_the_way_without_a_picture_needs_neither_sight_nor_mouse(self):
        self.open("person")
        self.browser.shown("without")
        self.browser.run("document.getElementById('without').focus()")
        self.browser.press("Enter")
        self.ended()

    def test_a_wrong_place_gives_another_picture_and_the_third_one_ends_the_session(self):
        self.open("person")
        for turn in range(3):
            self.browser.shown("puzzle")
            first = self.browser.images()[0]
            # A gap begins at 48 or further to the right.
            self.browser.run("const s = document.getElementById('slider'); s.value = 0;"
                             "s.dispatchEvent(new Event('input'));")
            self.browser.click("submit")
            if turn < 2:
                self.browser.wait("document.getElementById('picture').src.split(',')[1] !== %s" % json.dumps(first))
        self.browser.wait("document.getElementById('puzzle').hidden")
        self.assertEqual(self.browser.text(), "The check failed. Go back and try again later.")
        self.axe()
        self.clean()

    def test_a_new_picture_gives_more_time(self):
        self.open("person")
        self.browser.shown("puzzle")
        first = self.browser.images()[0]
        self.browser.click("again")
        self.browser.wait("document.getElementById('picture').src.split(',')[1] !== %s" % json.dumps(first))
        self.browser.shown("puzzle")
        self.slide_by_keys(self.place())
        self.browser.press("Enter")
        self.ended()

    def test_the_time_ends(self):
        self.open("short")
        self.browser.wait("document.querySelector('[role=status]').textContent.startsWith('The time is over')")
        self.axe()

    def test_a_navigation_that_the_gate_refuses_goes_through_the_page_to_the_api(self):
        for name in ("silent", "memory", "person", "both"):
            with self.subTest(name):
                self.browser.forget()
                self.pass_through(name)

    def pass_through(self, name):
        """From the refusal of a navigation over the page to the API, which gets a verdict."""
        target = f"/{name}?to=%C3%BC&next=a%26b"
        status, fields, body = site.send(target, fields=[("Accept", "text/html,*/*;q=0.8")])
        self.assertEqual((status, fields["Content-Type"]), (428, "text/html; charset=utf-8"))
        self.assertIn(fields["Proof-Challenge"], body.decode())
        self.browser.open(site.origin + target)
        if name in ("person", "both"):
            self.browser.shown("puzzle")
            self.slide_by_keys(self.place())
            self.browser.press("Enter")
        verdict = self.browser.wait("document.title === 'API' && document.getElementById('verdict').textContent")
        self.assertRegex(verdict, r"^[\w-]+\.[\w-]+$")
        self.assertEqual(self.browser.run("return location.pathname + location.search"), target)
        # The cookie holds: the next navigation passes at once.
        self.browser.open(f"{site.origin}/{name}?again=yes")
        self.assertEqual(self.browser.run("return document.title"), "API")

    # MARK: hosts

    def test_the_page_that_opened_it_gets_the_result(self):
        self.browser.open(site.origin + "/frame")
        address = site.page("work", origin=site.origin)
        self.browser.run("window.got = []; const b = document.body.appendChild(document.createElement('button'));"
                         "b.id = b.textContent = 'open';"
                         f"b.onclick = () => window.opened = window.open({json.dumps(address)}, 'check');")
        self.browser.click("open")
        self.addCleanup(self.browser.run, "if (window.opened) window.opened.close()")
        self.assertRegex(self.hosted()["success"]["data"], r"^[\w-]{88}$")

    def test_a_presenters_server_on_this_machine_gets_the_result(self):
        app, listener = site.app(), Listener()
        self.addCleanup(listener.close)
        for end in ("data", "code"):
            _, fields, _ = site.send_proved(app, "/person")
            state = os.urandom(16).hex()
            self.browser.open(site.page("person", fields["Proof-Challenge"], target="/person", handle=app.handle,
                                        loopback=listener.server_port, state=state, dismissible="yes"))
            self.browser.shown("puzzle")
            if end == "data":
                self.slide_by_keys(self.place())
            self.browser.press("Enter" if end == "data" else "Escape")
            result = listener.result()
            self.browser.arrived(f"http://127.0.0.1:{listener.server_port}/done")
            self.assertEqual((set(result), result["state"]), ({"state", end}, state))
            if end == "code":
                self.assertEqual(result["code"], "1005")
                continue
            clearance = [("Proof-Clearance", result["data"])]
            self.assertEqual(site.send_proved(app, "/person", clearance)[0], 200)
            self.assertEqual(site.send("/person", fields=clearance)[0], 428, "it counts beside the app's proof alone")

    # MARK: looks

    def test_each_language_and_direction(self):
        for language, title in LANGUAGES.items():
            with self.subTest(language):
                self.open("person", language=language, dismissible="yes")
                self.browser.shown("puzzle")
                self.assertEqual(self.browser.run("return [document.title, document.documentElement.lang,"
                                                  "document.documentElement.dir]"),
                                 [title, language, "rtl" if language == "ar" else "ltr"])
                self.fits()
                self.axe()
                self.open("person", language=language, dismissible="yes", layout="embedded")
                self.browser.shown("puzzle")
                self.axe()
                self.clean()

    def test_an_embedded_page_does_not_scale_and_a_popup_does(self):
        # In frames, because a window has a lowest size.
        widths = {}
        for language in ("de", "ar"):
            for layout, sizes in {"embedded": [(300, 230), (240, 240)],
                                  "popup": [(360, 360), (320, 256), (240, 240)]}.items():
                for width, height in sizes:
                    self.frame("person", layout=layout, language=language, dismissible="yes",
                               size=f"{width} {height}")
                    self.within("d.getElementById('puzzle') && !d.getElementById('puzzle').hidden")
                    found = self.browser.run(
                        "const e = document.getElementById('f').contentDocument;"
                        "return [e.defaultView.innerWidth, e.documentElement.scrollWidth,"
                        " e.documentElement.scrollHeight, e.getElementById('picture').getBoundingClientRect().width]")
                    self.assertEqual(found[0], width)
                    widths[layout, width] = found[3]
                    if (layout, width) != ("embedded", 240):
                        self.assertLessEqual(found[1], width, (layout, width, language))
                        # 256 pixels are the height of a view at 400 %: there a page may scroll in one direction.
                        self.assertLessEqual(found[2], height if height != 256 else 400, (layout, width, language))
        self.assertEqual([widths["embedded", 240], widths["embedded", 300], widths["popup", 360]], [280, 280, 280])
        self.assertLess(widths["popup", 240], 240)

    # MARK: codes of T16

    def failed(self, name, code, challenge=None, act=None, **more):
        self.frame(name, challenge, **more)
        if act:
            act()
        self.assertEqual(self.hosted(), {"failed": code})

    def within(self, condition, act="null"):
        """Waits for a condition in the frame's document `d` and window `w`, and does something there."""
        self.browser.wait("(() => { const w = document.getElementById('f').contentWindow, d = w.document;"
                          f" if (!({condition})) return false; {act}; return true; }})()")

    def test_success_is_posted_to_the_listed_origin(self):
        self.frame("work")
        found = self.hosted()
        self.assertRegex(found["success"]["data"], r"^[\w-]{88}$")

    def test_code_1001_when_no_try_is_left(self):
        def act():
            for _ in range(3):
                self.within("!d.getElementById('puzzle').hidden && d.getElementById('picture').src !== w.last",
                            "w.last = d.getElementById('picture').src; d.getElementById('slider').value = 2;"
                            "d.getElementById('submit').click()")
        self.failed("person", "1001", act=act)

    def test_code_1002_when_the_gate_cannot_judge(self):
        def act():
            self.within("!d.getElementById('puzzle').hidden", "w.fetch = async () => new Response('<html>',"
                        "{status: 503}); d.getElementById('submit').click()")
        self.failed("person", "1002", act=act)

    def test_code_1003_for_a_parameter_that_does_not_fit(self):
        challenge = site.challenge("person")
        self.failed("person", "1003", challenge=challenge[:-1] + ("A" if challenge[-1] != "A" else "B"))

    def test_code_1005_when_the_person_closes_it(self):
        self.failed("person", "1005", dismissible="yes", act=lambda: self.within(
            "!d.getElementById('cancel').hidden", "d.getElementById('cancel').click()"))

    def test_code_8001_when_the_picture_cannot_be_shown(self):
        self.failed("person", "8001", act=lambda: self.within(
            "!d.getElementById('puzzle').hidden", "w.real = w.fetch; w.fetch = async (...a) => { const r = await"
            " w.real(...a), j = await r.json(); if (j.picture) j.picture = 'AAAA'; return new Response("
            "JSON.stringify(j)); }; d.getElementById('again').click()"))

    def test_code_8002_for_data_of_another_form(self):
        self.failed("person", "8002", act=lambda: self.within(
            "!d.getElementById('puzzle').hidden", "w.fetch = async () => new Response('{}');"
            "d.getElementById('submit').click()"))

    def test_code_8003_for_an_error_of_the_script(self):
        self.failed("person", "8003", act=lambda: self.within(
            "!d.getElementById('puzzle').hidden", "w.JSON.stringify = (x) => { if (x.challenge) throw new w.Error('x');"
            " return x.failed ? '{\"failed\":\"' + x.failed + '\"}' : ''; }; d.getElementById('submit').click()"))

    def test_code_8004_when_the_gate_is_not_reached(self):
        self.failed("person", "8004", act=lambda: self.within(
            "!d.getElementById('puzzle').hidden", "w.fetch = async () => { throw new w.TypeError('net'); };"
            "d.getElementById('submit').click()"))


class InChromium(InBrowser, unittest.TestCase):
    start = staticmethod(Chromium)

    def tearDown(self):
        self.browser.scripts(True)
        self.browser.media()

    def shot(self, name):
        """A picture for the docs, written where they are made anew: PROOF_IMAGES=yes."""
        data = self.browser.image()
        self.assertGreater(len(data), 2000)
        if os.environ.get("PROOF_IMAGES"):
            IMAGES.mkdir(exist_ok=True)
            (IMAGES / f"page-{name}.png").write_bytes(data)

    def test_dark_and_forced_colours_and_reduced_motion(self):
        for name, features in {"light": {}, "dark": {"prefers_color_scheme": "dark"},
                               "forced": {"forced_colors": "active"},
                               "still": {"prefers_reduced_motion": "reduce"}}.items():
            self.browser.media(**features)
            self.open("person", dismissible="yes")
            self.browser.shown("puzzle")
            self.axe()
            self.clean()
            if name in ("light", "dark"):
                self.shot(name)
                colour = self.browser.run("return getComputedStyle(document.body).backgroundColor")
                self.assertEqual(colour, "rgb(22, 25, 29)" if name == "dark" else "rgb(255, 255, 255)")
            if name == "still":
                self.assertEqual(self.browser.run(
                    "return getComputedStyle(document.getElementById('bar'), '::after').animationName"), "none")

    def read(self, reading):
        driver = self.browser.driver
        box = driver.find_element("name", "reading")
        box.send_keys(str(reading))
        driver.find_element("css selector", "button[type=submit]").click()
        # Chromium without script returns from the click before the next page is there. While it replaces the page, its
        # driver has several errors for an element that goes; only the last one is called stale.
        WebDriverWait(driver, PATIENCE, ignored_exceptions=[WebDriverException]).until(staleness_of(box))

    def test_a_browser_without_cookies_is_told_and_does_not_go_round(self):
        self.browser.cookies(False)
        self.addCleanup(self.browser.cookies, True)
        self.browser.open(site.origin + "/silent")
        self.browser.wait("document.querySelector('[role=status]').textContent.startsWith('Your browser keeps no')")

    def test_pictures_of_the_layouts(self):
        for name, size, more in (("embedded", (300, 230), {"layout": "embedded"}),
                                 ("small", (240, 240), {}), ("arabic", (360, 360), {"language": "ar"})):
            self.browser.resize(*size)
            self.open("person", dismissible="yes", **more)
            self.browser.shown("puzzle")
            self.shot(name)

    def test_without_script_a_form_does_the_same(self):
        # The picture of a challenge is the same with and without script, so its gap is read from the page with script.
        challenge = site.challenge("person")
        self.open("person", challenge)
        self.browser.shown("puzzle")
        self.browser.scripts(False)
        driver = self.browser.driver
        self.open("person", challenge)
        self.assertIn("Continue without JavaScript", driver.page_source)
        driver.find_element("css selector", "noscript button").click()
        self.shot("plain")
        held = driver.find_element("name", "mark").get_attribute("value")
        self.read(0)
        self.assertNotEqual(driver.find_element("name", "mark").get_attribute("value"), held)
        self.assertIn("did not fill the gap", driver.page_source)
        challenge = driver.find_element("name", "challenge").get_attribute("value")
        self.browser.scripts(True)
        self.open("person", challenge)
        self.browser.shown("puzzle")
        place = self.place()
        self.browser.scripts(False)
        self.open("person", challenge, script="no")
        self.read(round((place + 22) / 2))
        self.assertEqual(driver.current_url, site.origin + "/hello")


class InFirefox(InBrowser, unittest.TestCase):
    start = staticmethod(Firefox)

    def test_dark(self):
        dark = Firefox(**{"ui.systemUsesDarkTheme": 1, "layout.css.prefers-color-scheme.content-override": 0,
                          "ui.prefersReducedMotion": 1})
        self.addCleanup(dark.close)
        dark.open(site.page("person"))
        dark.shown("puzzle")
        self.assertEqual(dark.run("return [getComputedStyle(document.body).backgroundColor,"
                                  "matchMedia('(prefers-reduced-motion: reduce)').matches]"),
                         ["rgb(22, 25, 29)", True])


class InWebKit(InBrowser, unittest.TestCase):
    start = staticmethod(WebKit)
