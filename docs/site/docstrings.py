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
        link: returns the Markdown of a name in backticks.
        ranges: ranges of arguments as text.
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
    """Return the first sentence of a docstring, for a table."""
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
    """Return paragraphs; indented lines and lines with a prompt are code."""
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
    """Join each paragraph and each item of a list to one line."""
    joined: list[str] = []
    for line in lines:
        if line.startswith("* ") or not joined:
            joined.append(line)
        else:
            joined[-1] += f" {line.strip()}"
    return joined


def plain(line: str, link: Callable[[str], str]) -> str:
    """Escape a line, except backticks and the star of an item."""
    bullet = "* " if line.startswith("* ") else ""
    parts = re.split(r"(`[^`]+`|``[^`]+``)", line[len(bullet) :])
    if parts[-1].count("`"):  # a name that continues in the next line
        parts[-1] = parts[-1].replace("`", "\\`")
    escaped = [link(p.strip("`")) if i % 2 else re.sub(r"([*$<\\_\[\]{}])", r"\\\1", p) for i, p in enumerate(parts)]
    text = "".join(escaped)
    return bullet + re.sub(r"^(\s*)([-+>#]|\d+[.)])(?=\s)", r"\1\\\2", text)
