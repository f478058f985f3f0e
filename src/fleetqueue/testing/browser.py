"""A real browser for tests: Chromium without a window, driven over its DevTools protocol.

async with Browser.open(folder) as browser:
    await browser.go(link)
    await browser.until("document.querySelector('h1')")
"""

import asyncio
import base64
import itertools
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
LISTENING: Final = re.compile(rb"DevTools listening on ws://([^/]+)/")
START_SECONDS: Final = 60.0
ANSWER_SECONDS: Final = 30.0
HAPPENS: Final = (
    "new Promise((resolve, reject) => {{"
    " const end = Date.now() + {milliseconds};"
    " const look = () => {{ let seen; try {{ seen = {condition}; }} catch {{ seen = false; }}"
    " if (seen) resolve(true); else if (Date.now() > end) reject(new Error('not seen in time'));"
    " else setTimeout(look, 20); }};"
    " look(); }})"
)
"""Looks again and again, inside the page."""


class BrowserProblem(Exception):
    """The browser did not do what it was told; the text is its own."""


def find() -> str | None:
    """Return where a browser is on this machine, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.requests: list[str] = []
        """The address of every request that the page made."""
        self.complaints: list[str] = []
        """What the page threw, logged as an error, or was refused by its own security policy."""

    @staticmethod
    @asynccontextmanager
    async def open(folder: Path) -> AsyncIterator["Browser"]:
        """Start a browser with an empty profile in a folder; it ends with the block."""
        program = find()
        if program is None:
            raise BrowserProblem(f"there is no {NAMES[0]} on this machine")
        process = await asyncio.create_subprocess_exec(
            program, *FLAGS, f"--user-data-dir={folder}", stderr=asyncio.subprocess.PIPE
        )
        try:
            address = await _address(process)
            async with aiohttp.ClientSession(f"http://{address}") as session:
                async with session.put("/json/new?about:blank") as response:
                    page = orjson.loads(await response.read())
                async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    async with _attached(Browser(socket)) as browser:
                        yield browser
        finally:
            process.terminate()
            await process.communicate()

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol."""
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        await self._socket.send_str(orjson.dumps({"id": number, "method": method, "params": parameters}).decode())
        async with asyncio.timeout(ANSWER_SECONDS):
            return await answer

    async def evaluate(self, expression: str) -> Any:
        """Return what an expression, or the promise that it is, gives in the page."""
        answer = await self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserProblem(f"{expression}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    async def until(self, condition: str, seconds: float = 20.0) -> None:
        """Wait until an expression is true in the page; raises BrowserProblem where that takes too long."""
        try:
            await self.evaluate(HAPPENS.format(condition=condition, milliseconds=seconds * 1000))
        except BrowserProblem as error:
            text = await self.text()
            raise BrowserProblem(f"{error}; complaints: {self.complaints}; the page shows:\n{text}") from error

    async def text(self, selector: str = "body") -> str:
        """Return what a person reads there."""
        return str(await self.evaluate(f"document.querySelector({selector!r})?.innerText ?? ''"))

    async def go(self, address: str) -> None:
        """Open an address, also where only its fragment differs; it is loaded when this returns."""
        await self.call("Page.navigate", url="about:blank")
        await self.call("Page.navigate", url=address)
        await self.until("document.readyState === 'complete'")

    async def press(self, key: str, code: int, *, text: str = "") -> None:
        """Press a key, which may write something, and let it go."""
        for kind in ("keyDown", "keyUp"):
            options = {
                "key": key,
                "code": key,
                "windowsVirtualKeyCode": code,
                "text": text if kind == "keyDown" else "",
            }
            await self.call("Input.dispatchKeyEvent", type=kind, **options)

    async def look(self, *, width: int, height: int, dark: bool = False, still: bool = True) -> None:
        """Have a screen of this size, and a taste."""
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
        ]
        await self.call("Emulation.setEmulatedMedia", features=features)

    async def speak(self, language: str) -> None:
        """Ask for pages in a language."""
        await self.call("Network.setExtraHTTPHeaders", headers={"Accept-Language": language})

    async def screenshot(self, *, whole: bool = True, form: str = "png", quality: int | None = None) -> bytes:
        """Return a picture of the page, or of what is in sight."""
        options: dict[str, Any] = {"format": form, "captureBeyondViewport": whole}
        if quality is not None:
            options["quality"] = quality
        if whole:
            size = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        return base64.b64decode((await self.call("Page.captureScreenshot", **options))["data"])

    async def listen(self) -> None:
        """Take what the browser says, until it says no more."""
        async for message in self._socket:
            heard = orjson.loads(message.data)
            if "id" in heard:
                self._answer(heard)
            else:
                self._note(heard["method"], heard["params"])

    def _answer(self, heard: dict[str, Any]) -> None:
        answer = self._answers.pop(heard["id"])
        if answer.done():
            return
        if "error" in heard:
            answer.set_exception(BrowserProblem(heard["error"]["message"]))
        else:
            answer.set_result(heard["result"])

    def _note(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(parameters["entry"]["text"])


async def _address(process: asyncio.subprocess.Process) -> str:
    """Return where the browser takes orders: it says so when it does."""
    assert process.stderr is not None
    async with asyncio.timeout(START_SECONDS):
        async for line in process.stderr:
            if match := LISTENING.search(line):
                return match[1].decode()
    raise BrowserProblem("the browser ended before it was ready")


@asynccontextmanager
async def _attached(browser: Browser) -> AsyncIterator[Browser]:
    async with asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(browser.listen())
        for domain in ("Page", "Runtime", "Network", "Log"):
            await browser.call(f"{domain}.enable")
        yield browser
        listening.cancel()
