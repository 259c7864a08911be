# SPDX-License-Identifier: Apache-2.0

"""The scenes: who asks what, and what each gets."""

import signal

from clients import App, Person, Program, challenge_of
from parts import Site, json_of

# An app that the service first saw less than a day ago solves 16 puzzles of this level (docs/GATE.md, `young`).
YOUNG_LEVEL = 16


class Story:
    def __init__(self, stage, narrator):
        self.stage, self.narrator = stage, narrator
        self.site = site = Site(stage)
        self.app = App("the app", stage, site)
        self.scraper = Program("the scraper", stage, site, "127.0.0.2")
        self.bot = Program("the bot with a solver", stage, site, "127.0.0.3")
        self.reader = Program("the program that reads pictures", stage, site, "127.0.0.4")
        self.visitor = Program("a visitor's browser tab", stage, site, "127.0.0.5")
        self.person = Person("the person in Chromium", stage, site)

    @property
    def parties(self):
        return [self.app, self.scraper, self.bot, self.reader, self.visitor, self.person]

    def play(self):
        self.begin()
        self.honest()
        self.scrape()
        self.solve()
        self.look()
        self.operate()
        self.lose()
        self.site.note_judgements()

    def begin(self):
        site, step = self.site, self.narrator.step
        self.narrator.begin("A gate beside nginx")
        with step("the attestation service starts", "listening") as line:
            site.start_service()
            line.happens("listening", f"https://localhost:{site.service_port}")
        with step("the account lists the gate, its API and a challenge", "listed") as line:
            site.list_gate()
            line.happens("listed", f"the API is {site.origin}")
        with step("the gate fetches its configuration, with the line of docs/GATE.md", "listening") as line:
            site.start_gate()
            line.happens("listening", f"127.0.0.1:{site.gate_port}")
        with step("the API starts, which serves what carries a verdict of the gate", "listening") as line:
            site.start_api()
            line.happens("listening", f"127.0.0.1:{site.api_port}")
        with step("nginx starts, with the lines of docs/GATE.md", "no mistake found, listening") as line:
            site.start_nginx()
            line.happens("no mistake found, listening", site.origin)

    def honest(self):
        step, app = self.narrator.step, self.app
        self.narrator.begin("An app with the SDK")
        with step("the app is installed, measured and admitted", "admitted") as line:
            app.install()
            answer, _ = app.do("enrol")
            line.happens(answer["outcome"], self.time(answer))
        with step("it asks for the prices: it is new, so the SDK solves work once", "served, judged: 428, 200") as line:
            answer, statuses = app.do("prices")
            app.note = f"about {16 << YOUNG_LEVEL:,} in the SDK"
            line.happens(self.told(answer, statuses), f"{self.time(answer)}, about {16 << YOUNG_LEVEL:,} hashes")
        with step("it asks again", "served, judged: 200") as line:
            line.happens(*self.asked("prices"))
        with step("it buys tea", "served, judged: 200") as line:
            line.happens(*self.asked("buy tea 1"))

    def asked(self, words):
        answer, statuses = self.app.do(words)
        return self.told(answer, statuses), self.time(answer)

    @staticmethod
    def told(answer, statuses):
        return f"{answer['outcome']}, judged: {', '.join(map(str, statuses))}"

    @staticmethod
    def time(answer):
        return f"{answer['time']['total']:.0f} ms"

    def refused(self, client, *request, **more):
        """Status of an answer, the gate's reason, and how many requests reached the API."""
        after, before = len(self.site.gate.lines), len(self.site.reached())
        status, fields, _ = client.send(*request, **more)
        reference = fields.get("proof-reference")
        reasons = [reason for _, reason in self.site.judgements(
            after, lambda line: reference in (None, line.get("reference")))]
        reached = len(self.site.reached()) - before
        said = fields.get("proof-refusal", "challenge" if "proof-challenge" in fields else "nothing")
        return f"{status} {said}, {reached} reached the API", " ".join(reasons)

    def scrape(self):
        step, scraper = self.narrator.step, self.scraper
        self.narrator.begin("A scraper with curl")
        with step("it asks for a search", "428 challenge, 0 reached the API") as line:
            line.happens(*self.refused(scraper, "/search/tea"))
        with step("it asks for the prices", "401 proof, 0 reached the API") as line:
            line.happens(*self.refused(scraper, "/prices"))
        with step("it asks with the user's token, which it stole", "401 proof, 0 reached the API") as line:
            line.happens(*self.refused(scraper, "/prices", [("Authorization", f"Bearer {self.app.secret}")]))
        with step("it sends the app's last order again, as the API received it", "401 proof, 0 reached the API"
                  ) as line:
            order = [request for request in self.site.reached() if request["method"] == "POST"][-1]
            own = ("host", "content-length", "connection", "user-agent", "accept")
            fields = [(name, value) for name, value in order["fields"] if name.lower() not in own]
            line.happens(*self.refused(scraper, order["target"], fields, "POST", order["body"]))

    def solve(self):
        step, bot = self.narrator.step, self.bot
        self.narrator.begin("A bot with our own solver, at the processor's speed")
        for number in (1, 2, 3):
            with step(f"it asks for page {number} of the search, and solves the work", "428, then 200") as line:
                target = f"/search/{number}"
                first, fields, _ = bot.send(target)
                solution, hashes = bot.solve(challenge_of(fields))
                second, _, _ = bot.send(target, [("Proof-Challenge", challenge_of(fields)),
                                                 ("Proof-Answer", solution)])
                line.happens(f"{first}, then {second}", f"{hashes:,} hashes")
        with step("it does so for page 4: its address has had its share, and a person is asked for",
                  "428 work, then 428 person") as line:
            first, fields, problem = bot.send("/search/4")
            solution, _ = bot.solve(challenge_of(fields))
            second, _, other = bot.send("/search/4", [("Proof-Challenge", challenge_of(fields)),
                                                      ("Proof-Answer", solution)])
            kinds = [json_of(one).get("kind", "nothing") for one in (problem, other)]
            line.happens(f"{first} {kinds[0]}, then {second} {kinds[1]}",
                         f"{bot.hashes:,} hashes for 3 pages; it stands")

    def look(self):
        step = self.narrator.step
        self.narrator.begin("Pictures, and a person")
        with step("a program that looks at the pictures tries for as long as it may", "10 tries, then 429") as line:
            found = []
            while len(found) < 12 and (not found or found[-1][-1] != 429):
                found.append(self.reader.try_picture())
            right = sum(statuses[-1] == 200 for statuses in found)
            line.happens(f"{len(found) - 1} tries, then {found[-1][-1]}",
                         f"right in {right}; {self.reader.hashes:,} hashes, {self.reader.seconds * 1000:.0f} ms")
        self.person.start()
        with step("a person opens the article, and moves the slider by mouse", "An article for people") as line:
            heading, tries = self.person.read("/article")
            line.happens(heading, f"{self.person.seconds * 1000:.0f} ms, {tries} of 3 tries")
        with step("the browser keeps the clearance as a cookie", "HttpOnly, Secure, SameSite=Lax") as line:
            cookie = self.person.cookie("__Host-proof-clearance") or {}
            words = [name for name, key in (("HttpOnly", "httpOnly"), ("Secure", "secure")) if cookie.get(key)]
            line.happens(", ".join([*words, f"SameSite={cookie.get('sameSite')}"]))
        with step("the person opens it again", "An article for people, not asked again") as line:
            heading, tries = self.person.read("/article")
            line.happens(f"{heading}, {'asked' if tries else 'not asked'} again")
        self.person.close()

    def operate(self):
        step = self.narrator.step
        self.narrator.begin("The operator's switches")
        with step("a page asks for /health five times; its rule has `limit address 3/hour`",
                  "200, 200, 200, 429, 429") as line:
            answers = [self.visitor.send("/health") for _ in range(5)]
            line.happens(", ".join(str(status) for status, _, _ in answers),
                         f"Retry-After: {answers[-1][1].get('retry-after')} s")
        with step("`proofctl gate watch front on`: the scraper asks for the prices", "200 nothing, 0 refused") as line:
            self.site.switch("on")
            found, reason = self.refused(self.scraper, "/prices")
            line.happens(found.split(",")[0] + ", 0 refused", f"the log keeps the reason: {reason}")
        with step("`proofctl gate watch front off`: it asks again", "401 proof, 0 reached the API") as line:
            self.site.switch("off")
            line.happens(*self.refused(self.scraper, "/prices"))

    def lose(self):
        step, site = self.narrator.step, self.site
        self.narrator.begin("Parts that fail")
        with step("the gate is killed with -9: the app asks for the prices", "refused with 500, 0 reached the API"
                  ) as line:
            site.kill_gate()
            before = len(site.reached())
            answer, _ = self.app.do("prices")
            self.app.count(500)
            line.happens(f"{answer['outcome']}, {len(site.reached()) - before} reached the API",
                         "nginx is closed while the gate does not answer")
        with step("the gate starts again: the app comes back by its ticket", "served, judged: 428, 200, by its ticket"
                  ) as line:
            site.start_gate()
            answer, statuses = self.app.do("prices")
            names = {name.lower() for name, _ in site.reached()[-1]["fields"]}
            shown = "ticket" if "proof-ticket" in names else "token" if "proof-token" in names else "proof"
            line.happens(f"{self.told(answer, statuses)}, by its {shown}", self.time(answer))
        with step("the scraper sends the order of before once more", "401 proof, 0 reached the API") as line:
            order = [request for request in site.reached() if request["method"] == "POST"][-1]
            own = ("host", "content-length", "connection", "user-agent", "accept")
            fields = [(name, value) for name, value in order["fields"] if name.lower() not in own]
            line.happens(*self.refused(self.scraper, order["target"], fields, "POST", order["body"]))
        with step("the attestation service is killed with -9: the app asks for the prices", "served, judged: 200"
                  ) as line:
            site.service.end(signal.SIGKILL)
            site.gate.wait("configuration not fetched", len(site.gate.lines))
            outcome, time = self.asked("prices")
            age = site.measures()["proof_gate_configuration_age_seconds"]
            line.happens(outcome, f"{time}; the gate's configuration is {age:.0f} s old")
