"""Docstrings as Markdown: text, `Args:` and the like as lists, indented lines and examples as code."""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Warns", "Example")
LISTS = ("Args", "Attributes", "Raises", "Warns")


def to_markdown(text: str, link: Callable[[str], str], ranges: Mapping[str, str] = MappingProxyType({})) -> str:
    """A docstring without its indentation (`inspect.cleandoc`) as Markdown.

    Args:
        text: the docstring.
        link: what becomes of a name in backticks.
        ranges: of arguments, in words.
    """
    parts, lines = [], []
    heading = ""
    for line in [*text.splitlines(), "Example:"]:
        if line.rstrip().removesuffix(":") in SECTIONS and line.rstrip().endswith(":"):
            parts.append((heading, lines))
            heading, lines = line.strip()[:-1], []
        else:
            lines.append(line[4:] if heading and line.startswith("    ") else line)
    return "\n\n".join(_section(heading, lines, link, ranges) for heading, lines in parts if any(lines))


def first_sentence(text: str, link: Callable[[str], str]) -> str:
    """What a table says of a name."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.?!:]) (?=[A-Z`])", paragraph)[0]
    return plain(sentence, link).replace("|", "\\|")


def _section(heading: str, lines: list[str], link: Callable[[str], str], ranges: Mapping[str, str]) -> str:
    if heading not in LISTS:
        return (f"**{heading}**\n\n" if heading else "") + _blocks(lines, link)
    items: list[list[str]] = []
    rest: list[str] = []
    for line in lines:
        if rest or (line.strip() == "" and items):
            rest.append(line)
        elif line.startswith("    ") and items:
            items[-1].append(line.strip())
        elif line.strip():
            items.append([line.strip()])
    listed = "\n".join(f"* {_item(heading, ' '.join(item), link, ranges)}" for item in items)
    after = _blocks(rest, link) if any(rest) else ""
    return f"**{heading}**\n\n{listed}\n\n{after}".rstrip()


def _item(heading: str, item: str, link: Callable[[str], str], ranges: Mapping[str, str]) -> str:
    name, colon, words = item.partition(": ")
    if not colon or (" " in name and heading in ("Args", "Attributes") and "," not in name):
        return plain(item, link)
    declared = f" ({ranges[name]})" if ranges.get(name) else ""
    return f"`{name}`{declared}: {plain(words, link)}"


def _blocks(lines: list[str], link: Callable[[str], str]) -> str:
    """Paragraphs, with code where lines are indented or begin with a prompt."""
    return "\n\n".join(_block(kind, block, link) for kind, block in _split(lines)).strip()


def _split(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    kind, block = "text", []
    for line in lines:
        if (kind == "pycon" and line.strip()) or line.lstrip().startswith(">>>"):
            now = "pycon"
        elif line.startswith("    "):
            now = "text" if kind == "list" and block and block[-1].strip() else "code"
        elif not line.strip():
            now = "blank"
        else:
            now = "list" if line.startswith("* ") or (kind == "list" and line.startswith("  ")) else "text"
        if now == "blank":
            if block and kind == "code":
                block.append("")
                continue
            if block:
                yield kind, block
            kind, block = "text", []
            continue
        if now != kind and block:
            yield kind, block
            block = []
        kind = now
        block.append(line)
    if block:
        yield kind, block


def _block(kind: str, lines: list[str], link: Callable[[str], str]) -> str:
    if kind in ("pycon", "code"):
        margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        code = "\n".join(line[margin:] for line in lines).rstrip()
        return f"```{'pycon' if kind == 'pycon' else 'text'}\n{code}\n```"
    return "\n".join(plain(line, link) for line in _joined(lines))


def _joined(lines: list[str]) -> list[str]:
    """Each paragraph, or item of a list, in one line."""
    found: list[str] = []
    for line in lines:
        if line.startswith("* ") or not found:
            found.append(line)
        else:
            found[-1] += f" {line.strip()}"
    return found


def plain(line: str, link: Callable[[str], str]) -> str:
    """A line in which only backticks, and a star that begins an item, mean something."""
    bullet = "* " if line.startswith("* ") else ""
    parts = re.split(r"(`[^`]+`|``[^`]+``)", line[len(bullet) :])
    if parts[-1].count("`"):  # of a name that goes on in the next line
        parts[-1] = parts[-1].replace("`", "\\`")
    escaped = [link(p.strip("`")) if i % 2 else re.sub(r"([*$<\\_\[\]{}])", r"\\\1", p) for i, p in enumerate(parts)]
    text = "".join(escaped)
    return bullet + re.sub(r"^(\s*)([-+>#]|\d+[.)])(?=\s)", r"\1\\\2", text)
