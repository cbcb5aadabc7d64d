"""Random mutants: one operator or number of one line of the mathematical packages is changed, with cosmic-ray."""

import ast
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ARITHMETIC, ORDER = "Add|Sub|Mul|Div|FloorDiv", "Lt|LtE|Gt|GtE|Eq|NotEq"
KINDS = re.compile(  # the other changes of cosmic-ray, such as + to <<, raise errors at once
    rf"core/(ReplaceBinaryOperator_({ARITHMETIC}|Mod|Pow)_({ARITHMETIC})|ReplaceComparisonOperator_({ORDER})_({ORDER})"
    "|ReplaceUnaryOperator_(USub_UAdd|Delete_USub|Delete_Not|Delete_Invert)|AddNot|NumberReplacer"
    "|ReplaceTrueWithFalse|ReplaceFalseWithTrue|ReplaceAndWithOr|ReplaceOrWithAnd)"
)


class Mutant(NamedTuple):
    """A changed line of a file; the lines are stripped."""

    package: str
    file: str
    number: int
    line: str
    mutant: str
    code: str  # of the whole file

    @property
    def name(self) -> tuple[str, str, str]:
        """Its name in the list of equivalent mutants, which other changes of the file leave as it is."""
        return self.file, self.line, self.mutant


def draw_mutants(root: Path, packages: list[str], number: int, seed: int, excluded: set) -> list[Mutant]:
    """Draw places of the packages without replacement, then one of the changes of each place; all equally likely."""
    places = defaultdict(list)
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            for place, change in _changes(path.read_text()):
                places[package, path, place].append(change)
    rng, mutants = random.Random(seed), []
    order = sorted(places)
    rng.shuffle(order)
    for package, path, place in order:
        mutant = _mutant(root, package, path, *rng.choice(places[package, path, place]))
        if mutant is not None and mutant.name not in excluded:
            mutants.append(mutant)
        if len(mutants) == number:
            break
    return mutants


def _changes(code: str) -> Iterator[tuple[tuple[int, int], tuple[str, int]]]:
    """Return pairs of a place (line, column) and a change (the operator of cosmic-ray, number of its occurrence)."""
    nodes = list(ast_nodes(get_ast(code)))
    for kind in filter(KINDS.fullmatch, operator_names()):
        operator = get_operator(kind)()
        starts = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        yield from ((start, (kind, occurrence)) for occurrence, start in enumerate(starts))


def _mutant(root: Path, package: str, path: Path, kind: str, occurrence: int) -> Mutant | None:
    """Return the mutant, or None if it is not valid Python or the same program."""
    code = path.read_text()
    changed = mutate_code(code, get_operator(kind)(), occurrence)
    try:
        if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(code)):
            return None
    except SyntaxError:
        return None
    pairs = enumerate(zip(code.splitlines(), changed.splitlines(), strict=False), start=1)
    number, (before, after) = next((number, pair) for number, pair in pairs if pair[0] != pair[1])
    return Mutant(package, str(path.relative_to(root)), number, before.strip(), after.strip(), changed)
