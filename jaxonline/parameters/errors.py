"""Errors and warnings of the package, with suggestions and printable texts."""

import difflib
import unicodedata
from collections.abc import Iterable
from typing import Any

# ---------------------------------------------------------------------------------------------------------------------
# Text that a terminal shows without acting on it: control characters and marks of direction are replaced.


def replace_controls(words: str) -> str:
    """Replace control characters, except for line breaks and tabs, and marks that change the direction of the text.

    Example:
        >>> from jaxonline.parameters.errors import replace_controls
        >>> replace_controls("a  b\\nc\\x1b[31m")
        'a  b\\nc�[31m'
    """
    if words.isprintable():
        return words
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" or unicodedata.category(sign) == "Zs" else "�" for sign in words
    )


def to_one_line(words: str) -> str:
    """Return a text in one line, with control characters replaced.

    Example:
        >>> from jaxonline.parameters.errors import to_one_line
        >>> to_one_line("a\\nb\\x1b[31m")
        'a b�[31m'
    """
    return replace_controls(" ".join(words.split()))


def replace_unencodable(*streams: Any) -> None:
    """Make text streams print a question mark for a character that their encoding lacks."""
    for stream in streams:
        stream.reconfigure(errors="replace")


# ---------------------------------------------------------------------------------------------------------------------
# Suggestions for misspelt names.


MAX_MISSPELT = 100  # letters; comparing longer names may take minutes


def did_you_mean(value: Any, options: Iterable[str]) -> str:
    """Return "; did you mean ...?" for the closest option, or "" without a close one.

    Example:
        >>> from jaxonline.parameters.errors import did_you_mean
        >>> did_you_mean("variace", ["variance", "multikernel"]), did_you_mean("x", ["variance"])
        ("; did you mean 'variance'?", '')
        >>> did_you_mean("a" * 101, ["a" * 100])
        ''
    """
    if not isinstance(value, str) or len(value) > MAX_MISSPELT:
        return ""
    options = list(options)
    by_lower = {option.lower(): option for option in options}
    matches = difflib.get_close_matches(value, options, 1) or difflib.get_close_matches(value.lower(), by_lower, 1)
    return f"; did you mean {by_lower.get(matches[0], matches[0])!r}?" if matches else ""


# ---------------------------------------------------------------------------------------------------------------------
# Exceptions for invalid arguments; each exception has the name of the argument as an attribute.


class _ErrorOfArgument(Exception):
    """Base of the errors: holds the name of an argument as the user writes it, and the message without this name."""

    def __init__(self, argument: str, problem: str):
        super().__init__(argument, problem)
        self.argument, self.problem = argument, problem

    def __str__(self) -> str:
        return replace_controls(f"{self.argument}: {self.problem}")


class ArgumentError(_ErrorOfArgument, ValueError):
    """An argument has an invalid value.

    Args:
        argument: the name of the argument.
        problem: the message after the name of the argument, such as "must be above 0 (got -1)".

    Example:
        >>> from jaxonline.parameters.errors import ArgumentError
        >>> error = ArgumentError("step_size", "must be above 0 (got -1)")
        >>> str(error), error.argument
        ('step_size: must be above 0 (got -1)', 'step_size')
    """


class ArgumentTypeError(_ErrorOfArgument, TypeError):
    """An argument has an invalid type; this exception is constructed like `ArgumentError`."""


class ArgumentOSError(_ErrorOfArgument, OSError):
    """An argument names a file or folder that cannot be used; this exception is constructed like `ArgumentError`."""


# ---------------------------------------------------------------------------------------------------------------------
# Warning classes of jaxonline, by which users can filter warnings.


class SkewedRunsWarning(RuntimeWarning):
    """An interval may miss the mean: the runs are skewed, or events too rare for the number of runs may be missing."""


class HeavyWeightsWarning(RuntimeWarning):
    """The value of a policy depends on a few rows of the log, whose weights are much larger than those of others."""


class UnsupportedArmsWarning(RuntimeWarning):
    """A policy or a learner chooses arms that the log never or rarely tries, so that their rewards are unknown."""


class PrecisionWarning(RuntimeWarning):
    """The requested precision, or a decision between all learners, was not reached with the maximum number of runs."""


class OverflowWarning(RuntimeWarning):
    """A learner ran out of storage in some runs, or is likely to."""


class DivergedRunsWarning(RuntimeWarning):
    """A learner's losses were NaN or infinite in some runs; the means exclude these runs."""


class SettingsWarning(UserWarning):
    """A setting is probably a mistake.

    A learner is made for another loss than that of the game or for another range of losses, a tuned parameter is the
    smallest or the largest of its candidates, or numbers are so small that they, or losses computed from them, are
    rounded to 0.
    """


class DamagedStoreWarning(RuntimeWarning):
    """A part of a stored study is damaged, or the file system cannot lock it; a damaged part is computed again."""


class UnfinishedStudyWarning(UserWarning):
    """Runs of a study are missing: it was read before its end, or no worker of its cluster runs a block."""
