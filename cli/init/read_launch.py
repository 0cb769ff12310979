"""What a launch script or notebook says of its SageMaker jobs, as JSON. Nothing of it is executed.

`python3 read_launch.py FILE`. A value is what JSON has, or an object with one of these keys:
`$number` (a float as Python writes it), `$call` (a call, with `arguments`), `$unread` (its text).
"""

from __future__ import annotations

import ast
import json
import operator
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ESTIMATORS = {
    "Estimator",
    "Framework",
    "HuggingFace",
    "ModelTrainer",
    "PyTorch",
    "SKLearn",
    "TensorFlow",
    "XGBoost",
}
METHODS = {"fit", "train", "tune", "set_hyperparameters", "with_checkpoint_config"}
_MOST_BYTES = 4_000_000
_LONGEST_TEXT = 10_000
_LARGEST_NUMBER = 2**53
_DEEPEST = 40
_MOST_VALUES = 20_000


class Unreadable(Exception):
    """A value that stands in the script only when it runs."""


class Place(NamedTuple):
    """Where a node stands."""

    scope: int
    blocks: tuple[int, ...]
    """Those around it that may not run, the outermost first."""
    repeats: bool
    """One of them is a loop's."""


class Bound(NamedTuple):
    """A value that a name, or an entry of its table, has after a line."""

    value: ast.expr | None
    """None: bound by something that has no value here, such as a loop."""
    line: int
    place: Place

    def has_run(self, use: Place) -> bool:
        """What reaches a statement of a block has run those before it."""
        return self.place.blocks == use.blocks[: len(self.place.blocks)]


class Script:
    """The parsed file: its names, and what each of them is bound to."""

    def __init__(self, body: list[ast.stmt], labels: dict[int, str]) -> None:
        self.tree = ast.Module(body=body, type_ignores=[])
        self.labels = labels
        self.aliases: dict[str, str] = {}
        self.bound: dict[str, list[Bound]] = {}
        self.entries: dict[str, list[tuple[ast.expr, Bound]]] = {}
        self.options: dict[str, ast.expr] = {}
        self._left = _MOST_VALUES
        self._readers: dict[type[ast.expr], Callable[[Any, int], Any]] = {
            ast.Attribute: self._option,
            ast.BinOp: self._sum,
            ast.Call: self._call,
            ast.Constant: self._constant,
            ast.Dict: self._dict,
            ast.IfExp: self._choice,
            ast.JoinedStr: self._text,
            ast.List: self._list,
            ast.Name: self._name,
            ast.Set: self._list,
            ast.Tuple: self._list,
            ast.UnaryOp: self._negative,
        }
        self._known: set[int] = set()
        self._shared: set[str] = set()
        self._places = _places(self.tree)
        for node in ast.walk(self.tree):
            self._learn(node)

    def line(self, node: ast.AST) -> str:
        number = getattr(node, "lineno", 0)
        return self.labels.get(number, f"line {number}")

    def _learn(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            inside = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for each in node.names:
                name = each.name if inside or each.asname else each.name.split(".")[0]
                self.aliases[each.asname or name] = inside + name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._bind(target, node.value, node)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            self._shared.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            # By a loop, a `with` or the like: an assignment comes before its target.
            if id(node) not in self._known:
                self._keep(node.id, None, node)
        elif isinstance(node, ast.arg):
            self._keep(node.arg, None, node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            self._learn_call(node, node.func)

    def _since(self, value: ast.expr | None, by: ast.stmt | ast.expr | ast.arg) -> Bound:
        return Bound(value, by.end_lineno or by.lineno, self._places[id(by)])

    def _keep(self, name: str, value: ast.expr | None, by: ast.stmt | ast.expr | ast.arg) -> None:
        self.bound.setdefault(name, []).append(self._since(value, by))

    def _bind(self, target: ast.expr, value: ast.expr | None, by: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            self._known.add(id(target))
            self._keep(target.id, value, by)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            entry = (target.slice, self._since(value, by))
            self.entries.setdefault(target.value.id, []).append(entry)
        elif isinstance(target, ast.Subscript):
            self._bind(target.value, None, by)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for each, its in zip(target.elts, value.elts, strict=False):
                self._bind(each, its, by)

    def _learn_call(self, node: ast.Call, method: ast.Attribute) -> None:
        if method.attr == "update" and isinstance(method.value, ast.Name):
            self._keep(method.value.id, None, node)
        if method.attr != "add_argument":
            return
        names = [each.value for each in node.args if isinstance(each, ast.Constant)]
        long = next((name for name in names if str(name).startswith("--")), None)
        for keyword in node.keywords:
            if keyword.arg == "default" and long is not None:
                self.options[str(long)[2:].replace("-", "_")] = keyword.value

    def dotted(self, node: ast.expr) -> str:
        if isinstance(node, ast.Attribute):
            return f"{self.dotted(node.value)}.{node.attr}"
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id, node.id)
        return "?"

    def value(self, node: ast.expr, depth: int = 0) -> Any:
        """What can be read of it; parts that cannot stand as `$unread`."""
        self._left -= 1
        try:
            if depth > _DEEPEST or self._left < 0:
                raise Unreadable
            return self._value(node, depth + 1)
        except Unreadable:
            return {"$unread": ast.unparse(node)[:300], "line": self.line(node)}

    def _value(self, node: ast.expr, depth: int) -> Any:
        read = self._readers.get(type(node))
        if read is None:
            raise Unreadable
        found = read(node, depth)
        if isinstance(found, str) and len(found) > _LONGEST_TEXT:
            raise Unreadable
        if isinstance(found, (int, float)) and not abs(found) <= _LARGEST_NUMBER:
            raise Unreadable
        return found

    def _scalar(self, node: ast.expr, depth: int) -> Any:
        """A text, number, boolean or None."""
        found = self.value(node, depth)
        if not isinstance(found, (str, int, float, type(None))):
            raise Unreadable
        return found

    def _list(self, node: ast.List | ast.Tuple | ast.Set, depth: int) -> list[Any]:
        return [self.value(each, depth) for each in node.elts]

    def _constant(self, node: ast.Constant, _depth: int) -> Any:
        if not isinstance(node.value, (str, int, float, type(None))):
            raise Unreadable
        return node.value

    def _name(self, node: ast.Name, depth: int) -> Any:
        bound = self.bound.get(node.id, [])
        entries = self.entries.get(node.id, [])
        use = self._places[id(node)]
        if len(bound) > 1:
            bound, entries = self._in_order(node, bound, entries)
        if not bound or bound[-1].value is None or not bound[-1].has_run(use):
            raise Unreadable
        value = self.value(bound[-1].value, depth)
        for key, entry in entries:
            name = self._scalar(key, depth)
            known = entry.value is not None and entry.has_run(use)
            if not isinstance(value, dict) or (name in value and known):
                raise Unreadable
            value[str(name)] = (
                self.value(entry.value, depth)
                if entry.value is not None and known
                else {"$unread": "it is set in part, or under a condition", "line": self.line(key)}
            )
        return value

    def _in_order(
        self, node: ast.Name, bound: list[Bound], entries: list[tuple[ast.expr, Bound]]
    ) -> tuple[list[Bound], list[tuple[ast.expr, Bound]]]:
        """What the name has in statements that run one after the other, as in cells."""
        use = self._places[id(node)]
        before = [
            each for each in bound if each.place.scope == use.scope and each.line < node.lineno
        ]
        if use.repeats or node.id in self._shared or not before:
            return [], []
        last = max(reversed(before), key=lambda each: each.line)
        return [last], [
            (key, each)
            for key, each in entries
            if each.place.scope == use.scope and last.line < each.line < node.lineno
        ]

    def _option(self, node: ast.Attribute, depth: int) -> Any:
        """`args.epochs`: the default of --epochs."""
        found = self.bound.get(node.value.id, []) if isinstance(node.value, ast.Name) else []
        parsed = [each.value for each in found if isinstance(each.value, ast.Call)]
        if len(parsed) != 1 or not self.dotted(parsed[0].func).endswith(".parse_args"):
            raise Unreadable
        if node.attr not in self.options:
            raise Unreadable
        return self.value(self.options[node.attr], depth)

    def _dict(self, node: ast.Dict, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=False):
            if key is None:
                base = self.value(value, depth)
                if not isinstance(base, dict) or "$call" in base:
                    raise Unreadable
                made.update(base)
                continue
            name = self._scalar(key, depth)
            if not isinstance(name, (str, int)):
                raise Unreadable
            made[str(name)] = self.value(value, depth)
        return made

    def _call(self, node: ast.Call, depth: int) -> Any:
        name = self.dotted(node.func)
        if name in _TEXT_OF and len(node.args) == 1 and not node.keywords:
            return _TEXT_OF[name](self._scalar(node.args[0], depth))
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            return self._format(node.func.value, node.args, depth)
        arguments: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, depth)
            if keyword.arg is not None:
                arguments[keyword.arg] = value
            elif isinstance(value, dict) and not any(key.startswith("$") for key in value):
                arguments.update(value)
            else:
                arguments[f"**{ast.unparse(keyword.value)[:60]}"] = value
        if name == "dict" and not node.args:
            return arguments
        return {
            "$call": name,
            "line": self.line(node),
            "text": ast.unparse(node)[:300],
            "positional": [self.value(each, depth) for each in node.args],
            "arguments": arguments,
        }

    def _text(self, node: ast.JoinedStr, depth: int) -> str:
        parts: list[str] = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue) and (each.format_spec or each.conversion != -1):
                raise Unreadable
            inner = each.value if isinstance(each, ast.FormattedValue) else each
            parts.append(str(self._scalar(inner, depth)))
        return "".join(parts)

    def _format(self, text: ast.expr, given: list[ast.expr], depth: int) -> str:
        """`"s3://{}/train".format(bucket)`; other fields than {} are not read."""
        parts = str(self._scalar(text, depth)).split("{}")
        if len(parts) != len(given) + 1 or any("{" in part or "}" in part for part in parts):
            raise Unreadable
        values = [str(self._scalar(each, depth)) for each in given]
        return "".join(f"{part}{value}" for part, value in zip(parts, [*values, ""], strict=True))

    def _negative(self, node: ast.UnaryOp, depth: int) -> int | float:
        if not isinstance(node.op, ast.USub):
            raise Unreadable
        return -_number(self._scalar(node.operand, depth))

    def _sum(self, node: ast.BinOp, depth: int) -> Any:
        left, right = self._scalar(node.left, depth), self._scalar(node.right, depth)
        if isinstance(left, str) and isinstance(right, str) and isinstance(node.op, ast.Add):
            return left + right
        combine = _OPERATORS.get(type(node.op))
        one, other = _number(left), _number(right)
        if combine is None or (other == 0 and isinstance(node.op, (ast.Div, ast.FloorDiv))):
            raise Unreadable
        return combine(one, other)

    def _choice(self, node: ast.IfExp, depth: int) -> Any:
        chosen = self._scalar(node.test, depth)
        return self.value(node.body if chosen else node.orelse, depth)

    def jobs(self) -> list[dict[str, Any]]:
        """Calls that make an estimator or, by boto3, a job; each with the calls of its methods."""
        found: list[tuple[ast.Call, dict[str, Any]]] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and self._is_estimator(node):
                found.append((node, {**self._call(node, 0), "methods": []}))
        found.sort(key=lambda each: each[0].lineno)
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            made = self._made(node.func.value) if node.func.attr in METHODS else None
            method = {**self._call(node, 0), "$call": node.func.attr} if made is not None else {}
            if isinstance(made, ast.Call) and self.dotted(made.func).endswith(_TUNER):
                method["arguments"][_TUNER] = ast.unparse(made)[:300]
                made = self._tuned(made)
            for call, job in found:
                if made is call:
                    job["methods"].append(method)
        return [job for _, job in found]

    def _is_estimator(self, node: ast.Call) -> bool:
        *made_by, name = self.dotted(node.func).split(".")
        if name == "create_training_job":
            return made_by != []
        return made_by[:1] == ["sagemaker"] and name in ESTIMATORS

    def _made(self, node: ast.expr) -> ast.expr | None:
        if not isinstance(node, ast.Name):
            return node
        bound = self.bound.get(node.id, [])
        lines = [each.value for each in bound if isinstance(each.value, ast.Call)]
        before = [each for each in lines if each.lineno <= node.lineno]
        return max(before or lines, key=lambda each: each.lineno, default=None)

    def _tuned(self, tuner: ast.Call) -> ast.expr | None:
        """Finds the estimator of a tuner."""
        named = {each.arg: each.value for each in tuner.keywords}
        first = [*tuner.args, named.get("estimator"), named.get("model_trainer")]
        return next((self._made(each) for each in first if each is not None), None)


_TUNER = "HyperparameterTuner"
_TEXT_OF: dict[str, Callable[[Any], str]] = {"str": str, "json.dumps": json.dumps}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_SCOPES = (*_FUNCTIONS, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
# Python 3.9 has no match.
_BRANCHES = (*_LOOPS, ast.If, ast.Try, getattr(ast, "Match", ast.If))


def _places(tree: ast.Module) -> dict[int, Place]:
    """Maps each node to where it stands."""
    places: dict[int, Place] = {}
    left: list[tuple[ast.AST, Place]] = [(tree, Place(0, (), False))]
    while left:
        node, place = left.pop()
        places[id(node)] = place
        if isinstance(node, _SCOPES):
            place = Place(id(node), (), False)
        branches = isinstance(node, _BRANCHES) and not _is_main(node)
        repeats = place.repeats or isinstance(node, _LOOPS)
        for field, each in ast.iter_fields(node):
            below = each if isinstance(each, list) else [each]
            # Handlers and cases are blocks of their own.
            inside = [
                Place(place.scope, (*place.blocks, id(part if field in _EACH else each)), repeats)
                if branches
                else place
                for part in below
            ]
            left.extend(
                (part, at)
                for part, at in zip(below, inside, strict=True)
                if isinstance(part, ast.AST)
            )
    return places


_EACH = ("handlers", "cases")


def _is_main(node: ast.AST) -> bool:
    """`if __name__ == "__main__":`"""
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unreadable
    return value


def _as_json(value: Any) -> Any:
    """A float in the form in which Python writes it."""
    if isinstance(value, dict):
        return {name: _as_json(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_as_json(each) for each in value]
    return {"$number": json.dumps(value)} if isinstance(value, float) else value


def _cells(text: str) -> list[tuple[str, str]]:
    """Code cells of a notebook with what they are called."""
    cells = json.loads(text).get("cells", [])
    codes = [
        (f"cell {index}", "".join(cell.get("source", [])))
        for index, cell in enumerate(cells, 1)
        if cell.get("cell_type") == "code"
    ]
    return [(name, code) for name, code in codes if _IN_PYTHON.match(code.lstrip())]


_IN_PYTHON = re.compile(r"(?!%%)|%%(time|timeit|capture|prun)\b")
"""A magic of the whole cell is another language, or a file."""


def _without_magics(code: str) -> str:
    lines = code.splitlines()
    return "\n".join(
        f"{line[: len(line) - len(line.lstrip())]}pass"
        if line.lstrip().startswith(("%", "!"))
        else line
        for line in lines
    )


def read(file: Path) -> dict[str, Any]:
    """Raises OSError, SyntaxError, ValueError, RecursionError."""
    if file.stat().st_size > _MOST_BYTES:
        raise ValueError(f"it is larger than {_MOST_BYTES // 1_000_000} MB")
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".ipynb":
        return {"jobs": Script(ast.parse(text).body, {}).jobs(), "skipped": []}
    body: list[ast.stmt] = []
    labels: dict[int, str] = {}
    skipped: list[str] = []
    for name, code in _cells(text):
        try:
            parsed = ast.parse(_without_magics(code)).body
        except SyntaxError as error:
            skipped.append(f"{name}: {error.msg}")
            continue
        begin = len(labels)
        for number in range(1, len(code.splitlines()) + 2):
            labels[begin + number] = f"{name}, line {number}"
        for statement in parsed:
            body.append(ast.increment_lineno(statement, begin))
    return {"jobs": Script(body, labels).jobs(), "skipped": skipped}


if __name__ == "__main__":
    try:
        print(json.dumps(_as_json(read(Path(sys.argv[1])))))
    except (OSError, SyntaxError, ValueError, AttributeError, TypeError, RecursionError) as error:
        print(json.dumps({"problem": str(error)[:300]}))
