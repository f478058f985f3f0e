"""What an error quotes from a log."""

from fleetqueue.lab.processes import LARGE_BYTES, TAIL_LINES, log_tail, make_room


def test_only_the_end_is_quoted(tmp_path):
    (tmp_path / "a.log").write_text("".join(f"line {number}\n" for number in range(100)))

    lines = log_tail(tmp_path / "a.log").splitlines()

    assert len(lines) == TAIL_LINES + 1
    assert lines[-1] == "line 99"


def test_a_known_failure_comes_with_advice(tmp_path):
    (tmp_path / "a.log").write_text("couldn't initialize inotify: too many open files\n")

    assert "sysctl fs.inotify.max_user_instances" in log_tail(tmp_path / "a.log")


def test_an_empty_or_missing_log_is_named(tmp_path):
    assert log_tail(tmp_path / "a.log").endswith("a.log is empty")


def test_a_large_log_is_put_aside(tmp_path):
    log = tmp_path / "deep" / "a.log"
    make_room(log)
    log.write_bytes(b"x" * (LARGE_BYTES + 1))

    make_room(log)

    assert not log.exists()
    assert (tmp_path / "deep" / "a.old.log").exists()
