"""The page as a person sees it: in a real browser, of a fleet that runs."""

import pytest

pytestmark = [pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="package")]

JOBS = "[...document.querySelectorAll('table.jobs tbody tr:not(.spacer)')]"
SETTLED = f"{JOBS}.filter((row) => /(long|next|last)/.test(row.textContent)).length === 3"
OVERFLOWING = """[...document.querySelectorAll('body *')].filter((node) => {
    const style = getComputedStyle(node);
    return node.clientWidth && node.scrollWidth > node.clientWidth + 1 && style.overflowX !== 'visible'
        && style.textOverflow !== 'ellipsis' && !node.closest('.hidden, .skip, thead') && style.overflowX !== 'auto';
}).map((node) => node.outerHTML.slice(0, 80))"""
NAMELESS = """[...document.querySelectorAll('button, input, section, canvas, [role=group], [role=img]')]
    .filter((node) => !(node.ariaLabel || node.getAttribute('aria-labelledby') || node.textContent.trim()
        || node.labels?.[0]?.textContent)).map((node) => node.outerHTML.slice(0, 80))"""

BLUE_PIXELS = """(() => {
    const canvas = document.querySelector('canvas'), style = getComputedStyle(document.documentElement);
    const color = style.getPropertyValue('--running').match(/\\w\\w/g).map((digits) => parseInt(digits, 16));
    const { data } = canvas.getContext('2d').getImageData(0, 30, canvas.width - 30, canvas.height - 30);
    const isBlue = (at) => color.every((value, index) => Math.abs(data[at + index] - value) < 3);
    return Array.from({ length: data.length / 4 }, (_, pixel) => isBlue(4 * pixel)).filter(Boolean).length;
})()"""
"""How much of the timeline has the colour of jobs that run; the line of the present moment is left out."""
WRITTEN = """(() => {
    const texts = [], pen = CanvasRenderingContext2D.prototype, write = pen.fillText;
    pen.fillText = function (text, ...where) { texts.push(text); write.call(this, text, ...where); };
    document.querySelector('.timeline').dispatchEvent(new Event('scroll'));
    pen.fillText = write;
    return texts;
})()"""
"""What is written on the timeline when it is drawn."""
NUMBER_TOPS = """[...document.querySelectorAll('.summary dd')].map((node) => node.getBoundingClientRect().top)"""


def row(name):
    return f"{JOBS}.find((row) => row.querySelector('.name').textContent.includes('Job/{name}'))"


@pytest.fixture
def visit(screen, dashboard):
    """Open the page and wait until it shows the jobs of the fleet."""

    async def visit(*, width=1280, dark=False, language="en", link=None):
        await screen.look(width=width, height=900, dark=dark)
        await screen.speak(language)
        await screen.go(link or dashboard.link)
        await screen.until(SETTLED)
        await screen.until("document.querySelector('#live').dataset.state === 'live'")

    return visit


async def test_a_person_sees_fleet_queues_and_jobs(visit, screen):
    await visit()
    await screen.until("document.querySelector('#queues').innerText.includes('7 of 9')")

    headings = await screen.evaluate("[...document.querySelectorAll('h1, h2')].map((node) => node.innerText)")
    fleet, queues = await screen.text("#fleet"), await screen.text("#queues")

    assert headings == ["fleetqueue", "Fleet", "Queues", "Timeline", "Jobs", "Events"]
    assert "cluster1" in fleet
    assert "available" in fleet
    assert "1 of 8 free" in fleet
    assert "cluster-queue-demo1" in queues
    assert await screen.text("#live") == "Live"


async def test_a_person_sees_why_a_job_waits_and_who_is_next(visit, screen):
    await visit()

    reasons = [await screen.evaluate(f"{row(name)}.querySelector('.why').innerText") for name in ("next", "last")]

    assert {reason[:29] for reason in reasons} == {f"{place} of 2 in cluster-queue-demo1" for place in (1, 2)}
    assert any("insufficient unused quota for cpu" in reason for reason in reasons)


async def test_the_timeline_has_a_bar_for_the_job_that_runs(visit, screen):
    await visit()

    label = await screen.evaluate("document.querySelector('canvas').ariaLabel")

    assert await screen.evaluate(BLUE_PIXELS) > 20
    assert " jobs on 2 clusters since " in label


async def test_a_job_opens_by_keyboard_and_gives_the_focus_back(visit, screen):
    await visit()
    await screen.evaluate(f"{row('long')}.querySelector('button').focus()")

    await screen.press("Enter", 13, text="\r")
    await screen.until("document.querySelector('dialog[open] .facts')")
    text = await screen.text("dialog")
    await screen.press("Escape", 27)
    await screen.until("!document.querySelector('dialog[open]')")

    assert text.startswith("Job/long")
    assert "On its way" in text
    assert "cpu 7" in text
    assert await screen.evaluate("document.activeElement.innerText.includes('Job/long')")


async def test_a_new_job_appears_by_itself(visit, screen, fleet):
    await visit()

    await fleet.submit("surprise", "user-queue-demo2")
    await screen.until(row("surprise"))

    assert "waiting" in await screen.evaluate(f"{row('surprise')}.innerText")


async def test_jobs_can_be_searched_and_filtered(visit, screen):
    await visit()

    await screen.evaluate("document.querySelector('#states input[value=failed]').click()")
    await screen.until(f"{JOBS}.length === 1")
    failed = await screen.text("table.jobs tbody")
    await screen.evaluate("document.querySelector('#states input[value=all]').click()")
    search = "Object.assign(document.querySelector('#search'), { value: 'LONG' }).dispatchEvent(new Event('input'))"
    await screen.evaluate(search)
    await screen.until(f"{JOBS}.length === 1")

    assert "Job/broken" in failed
    assert "Job/long" in await screen.text("table.jobs tbody")


async def test_a_table_follows_where_it_is_scrolled_and_how_many_rows_are_left(visit, screen, fleet):
    await visit(width=390)
    scroller = "document.querySelector('#events .scroller')"
    rows = "[...document.querySelectorAll('table.events tbody tr:not(.spacer)')]"
    await screen.until(f"{scroller}.scrollHeight > {scroller}.clientHeight")

    await screen.evaluate(f"{scroller}.scrollTop = {scroller}.scrollHeight")
    await screen.until(
        f"{rows}.at(-1).getAttribute('aria-rowindex') === document.querySelector('table.events').ariaRowCount"
    )
    in_sight = await screen.evaluate(
        f"{rows}.at(-1).getBoundingClientRect().bottom - {scroller}.getBoundingClientRect().bottom"
    )

    assert in_sight <= 1
    assert screen.complaints == []


async def test_drawing_everything_anew_does_not_lay_the_page_out_between_its_parts(visit, screen):
    await visit()
    await screen.call("Performance.enable")

    before = await layouts(screen)
    await screen.evaluate("for (let time = 0; time < 10; time += 1) document.querySelector('#language').click()")

    assert await layouts(screen) - before < 10


async def layouts(screen):
    """Return how often the page was laid out."""
    metrics = (await screen.call("Performance.getMetrics"))["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "LayoutCount")


async def test_the_language_follows_the_browser_and_can_be_switched(visit, screen):
    await visit(language="zh-CN,zh;q=0.9,en;q=0.5")
    before = await screen.text("#fleet h2"), await screen.evaluate("document.documentElement.lang")

    await screen.evaluate("document.querySelector('#language').click()")
    await screen.until("document.querySelector('#fleet h2').innerText === 'Fleet'")

    assert before == ("集群队", "zh-CN")
    assert await screen.evaluate("document.documentElement.lang") == "en"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_nothing_is_cut_off_and_everything_has_a_name(visit, screen, width, language, dark):
    await visit(width=width, language=language, dark=dark)

    assert await screen.evaluate("document.documentElement.scrollWidth") == width
    assert await screen.evaluate(OVERFLOWING) == []
    assert await screen.evaluate(NAMELESS) == []
    light = await screen.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(244, 246, 248)"
    assert light is not dark


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["next", "long"])
async def test_an_open_job_is_as_wide_as_the_screen_has_room(visit, screen, width, name):
    await visit(width=width)

    await screen.evaluate(f"{row(name)}.querySelector('button').click()")
    await screen.until("document.querySelector('dialog[open] .facts')")
    room, wide = await screen.evaluate("(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth])(job)")

    assert wide == room <= width
    assert await screen.evaluate(OVERFLOWING) == []


async def test_on_a_telephone_numbers_stand_in_two_lines_and_the_timeline_has_its_names_whole(visit, screen):
    await visit(width=390)

    tops = await screen.evaluate(NUMBER_TOPS)
    written = await screen.evaluate(WRITTEN)

    assert [len(set(line)) for line in (tops[:3], tops[3:])] == [1, 1]
    assert {"no cluster yet", "cluster1", "cluster2"} <= set(written)


async def test_screen_readers_get_tables_landmarks_and_news(visit, screen):
    await visit(width=390)

    tree = (await screen.call("Accessibility.getFullAXTree"))["nodes"]
    roles = [node["role"]["value"] for node in tree if not node.get("ignored")]

    assert {"banner", "main", "table", "columnheader", "rowheader", "cell", "status", "radio"} <= set(roles)
    assert roles.count("region") >= 5
    assert await screen.evaluate("document.querySelector('#announcer').textContent.includes('waiting')")


async def test_the_page_asks_nobody_else_and_nothing_is_refused(visit, screen, dashboard):
    await visit()

    assert {address.split("/")[2] for address in screen.requests} == {dashboard.address}
    assert screen.complaints == []
    assert dashboard.token not in await screen.evaluate("location.href")
    assert not any(dashboard.token in address for address in screen.requests if "#" not in address)


async def test_what_is_photographed_shows_no_secret_of_the_fleet(visit, screen, secrets):
    await visit()
    shown = [await screen.evaluate("document.documentElement.outerHTML"), *await screen.evaluate(WRITTEN)]
    for name in await screen.evaluate(f"{JOBS}.map((row) => row.querySelector('.name span').textContent)"):
        await screen.evaluate(f"{row(name.removeprefix('Job/'))}.querySelector('button').click()")
        await screen.until(f"document.querySelector('dialog[open] h2').textContent === '{name}'")
        shown.append(await screen.evaluate("job.innerText"))
        await screen.evaluate("job.close()")

    assert "Job/long" in shown[0]
    assert any("On its way" in text for text in shown[1:])
    assert [text[:12] for text in secrets if any(text in what for what in shown)] == []


async def test_a_wrong_link_says_what_to_do(screen, dashboard):
    await screen.go(f"http://{dashboard.address}/#token=wrong")
    await screen.until("!document.querySelector('#gate').hidden")

    assert "fleetqueue dashboard" in await screen.text("#gate")
    assert await screen.evaluate("document.querySelector('#page').hidden")
