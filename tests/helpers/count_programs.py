"""`pytest --count-programs`: how many programs each module compiled (or took from the cache on disk), and how long that
took. What a test costs is what it compiles."""

from collections import Counter

import jax
import pytest

COMPILED = "/jax/core/compile/backend_compile_duration"
_compiled: list[tuple[str, float]] = []


def n_compiled(function: str | None = None) -> int:
    """How many programs of a function, as "advance", this process has compiled or taken from the cache on disk; by
    default of all."""
    return len(_compiled) if function is None else [name for name, _ in _compiled].count(f"jit({function})")


def _listen(event, seconds, fun_name="", **_):
    if event == COMPILED:
        _compiled.append((fun_name, seconds))


jax.monitoring.register_event_duration_secs_listener(_listen)


def pytest_addoption(parser):
    parser.addoption("--count-programs", action="store_true", help="say how many programs each module compiled")


class ProgramCounter:
    """Counts in the worker, travels with each report, and is summed up where the reports arrive."""

    def __init__(self):
        self.reported = 0
        self.programs: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        report.compilations = [seconds for _, seconds in _compiled[self.reported :]]
        self.reported = len(_compiled)
        return report

    def pytest_runtest_logreport(self, report):
        module = report.nodeid.split("::")[0]
        self.programs[module] += len(report.compilations)
        self.seconds[module] += sum(report.compilations)

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section("programs")
        for module, count in self.programs.most_common():
            terminalreporter.write_line(f"{count:6} {self.seconds[module]:7.1f} s  {module}")
        terminalreporter.write_line(f"{self.programs.total():6} {sum(self.seconds.values()):7.1f} s  in all")


def pytest_configure(config):
    if config.getoption("--count-programs"):
        config.pluginmanager.register(ProgramCounter())
