"""Scripts as their authors start them: real processes that print what they got."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_runs import run
from sagemaker_host import make_host
from tidewheel_agent.configuration.command_line import script_command
from tidewheel_agent.configuration.read_job import read_job
from tidewheel_agent.configuration.settings import Settings

SHOW = """
import json, os, sys
print("GOT", json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]))
open(os.path.join(os.environ["SM_MODEL_DIR"], "model"), "w").close()
"""
RunScript = Callable[..., tuple[list[str], str, dict[str, str]]]


def host(folder: Path, script: dict[str, Any], files: dict[str, str], **parameters: Any) -> Path:  # noqa: ANN401
    source = folder / "source"
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    (folder / "images").mkdir()
    # The service cuts the document wherever a piece is full.
    text = json.dumps(script)
    pieces = [text[start : start + 40] for start in range(0, len(text), 40)]
    names = ["tidewheel_script", *(f"tidewheel_script_{n}" for n in range(2, len(pieces) + 1))]
    program = {} if "command" in script else {"sagemaker_program": "train.py"}
    return make_host(
        folder / "ml",
        hyperparameters={**program, **dict(zip(names, pieces, strict=False)), **parameters},
        source=source,
        channels={"images": folder / "images"},
    )


@pytest.fixture
def run_script(tmp_path: Path) -> RunScript:
    def start(
        script: dict[str, Any],
        files: dict[str, str] | None = None,
        *,
        before: Callable[[Path], None] = lambda base: None,
        **parameters: Any,  # noqa: ANN401
    ) -> tuple[list[str], str, dict[str, str]]:
        base = host(tmp_path, script, files or {"train.py": SHOW}, **parameters)
        before(base)
        code, log = run(base)
        assert code == 0, log
        line = next(line for line in log.splitlines() if "GOT " in line)
        got: tuple[list[str], str, dict[str, str]] = json.loads(line.split("GOT ", 1)[1])
        return got

    return start


def test_arguments_arrive_as_typed_with_the_hosts_folders(
    run_script: RunScript, tmp_path: Path
) -> None:
    typed = [
        "${channel:images}",
        "--out_dir=${checkpoints}",
        "--amp",
        "model.lr=0.0",
        "hydra.run.dir=$${now:%Y}",
        ["--model", "${model}"],
    ]
    arguments, folder, variables = run_script({"arguments": typed}, epochs=3)
    base = tmp_path / "ml"
    assert arguments == [
        str(base / "input/data/images"),
        f"--out_dir={base / 'checkpoints'}",
        "--amp",
        "model.lr=0.0",
        "hydra.run.dir=${now:%Y}",
        "--model",
        str(base / "model"),
    ]
    assert folder == str(base / "code")
    assert json.loads(variables["SM_HPS"]) == {"epochs": 3}
    assert json.loads(variables["SM_USER_ARGS"]) == arguments


def test_a_script_may_run_where_it_saves(run_script: RunScript, tmp_path: Path) -> None:
    script = {"workingDirectory": "${checkpoints}", "checkpoint": {"folder": "out"}}
    _, folder, _ = run_script(script)
    checkpoints = tmp_path / "ml" / "checkpoints"
    assert folder == str(checkpoints)
    assert not (checkpoints / "out").is_symlink()


@pytest.mark.parametrize("there", [False, True])
def test_a_shell_decides_what_a_path_cannot(
    run_script: RunScript, tmp_path: Path, *, there: bool
) -> None:
    """As docs/pipeline.md starts nanoGPT."""

    def before(base: Path) -> None:
        if there:
            (base / "checkpoints" / "ckpt.pt").write_text("x")

    line = 'exec python train.py --dir="$0" $(test -f "$0/ckpt.pt" && echo --init_from=resume)'
    arguments, *_ = run_script({"command": ["bash", "-c", line, "${checkpoints}"]}, before=before)
    expected = ["--init_from=resume"] if there else []
    assert arguments == [f"--dir={tmp_path / 'ml' / 'checkpoints'}", *expected]


def test_hyperparameters_stand_where_they_are_asked_for(run_script: RunScript) -> None:
    arguments, *_ = run_script(
        {"arguments": ["fit", "${hyperparameters}", "x"]}, epochs=3, amp=True
    )
    assert arguments == ["fit", "--amp", "True", "--epochs", "3", "x"]


@pytest.mark.parametrize("there", [False, True])
def test_an_argument_with_a_question_mark_needs_its_path(
    run_script: RunScript, tmp_path: Path, *, there: bool
) -> None:
    def before(base: Path) -> None:
        if there:
            (base / "checkpoints" / "last.pt").write_text("x")

    last = "${checkpoints}/last.pt?"
    arguments, *_ = run_script(
        {"arguments": [f"--resume={last}", ["--from", last], "${model}?", "${source}??", "why?"]},
        before=before,
    )
    path = str(tmp_path / "ml" / "checkpoints" / "last.pt")
    source = str(tmp_path / "ml" / "code")
    assert arguments == [
        *([f"--resume={path}", "--from", path] if there else []),
        f"{source}?",
        "why?",
    ]


def test_hostile_arguments_and_variables_stay_text(run_script: RunScript, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    hostile = [
        f"$(touch {mark})",
        f"`touch {mark}`",
        f"; touch {mark} #",
        "a\nb\r\n",
        "' \" \\ * ~ ! %s {} \t",
        "$HOME $$PATH",
        "é 漢字 \U0001f600 \u202e \x7f",
        "-",
        "",
        "x" * 4_000,
        "__proto__",
    ]
    given = [text.replace("$", "$$") for text in hostile]
    variables = {f"V{n}": text for n, text in enumerate(given)}
    arguments, _, environment = run_script({"arguments": given, "environment": variables})
    assert arguments == hostile
    assert [environment[f"V{n}"] for n in range(len(hostile))] == hostile
    assert not mark.exists()


def test_variables_do_not_replace_those_of_the_service(
    run_script: RunScript, tmp_path: Path
) -> None:
    declared = {"OMP_NUM_THREADS": "3", "KERAS_BACKEND": "torch", "OUT": "${output}/x"}
    _, _, variables = run_script({"environment": {**declared, "SM_MODEL_DIR": "/x"}})
    assert variables["OMP_NUM_THREADS"] == variables.get("MKL_NUM_THREADS", "3") == "3"
    assert variables["KERAS_BACKEND"] == "torch"
    assert variables["OUT"] == str(tmp_path / "ml/output/data/x")
    assert variables["SM_MODEL_DIR"] == str(tmp_path / "ml" / "model")


def test_a_script_runs_in_its_working_directory(run_script: RunScript, tmp_path: Path) -> None:
    files = {"train.py": SHOW, "examples/vit/config.yaml": "x"}
    _, folder, _ = run_script({"workingDirectory": "examples/vit"}, files)
    assert folder == str(tmp_path / "ml/code/examples/vit")


def test_a_shell_script_is_a_command(run_script: RunScript, tmp_path: Path) -> None:
    files = {"run.sh": 'exec python show.py "$@"', "show.py": SHOW}
    arguments, *_ = run_script({"command": ["bash", "run.sh", "${checkpoints}"]}, files, epochs=3)
    assert arguments == [str(tmp_path / "ml" / "checkpoints")]


def test_a_module_is_a_command(run_script: RunScript) -> None:
    files = {"package/__init__.py": "", "package/fit.py": SHOW}
    command = ["python", "-m", "package.fit", "fit"]
    arguments, *_ = run_script({"command": command, "arguments": ["--lr", "0.0"]}, files)
    assert arguments == ["fit", "--lr", "0.0"]


def test_a_command_that_is_not_there_is_named_with_the_remedy(tmp_path: Path) -> None:
    base = host(tmp_path, {"command": ["trainn", "x"]}, {"a.txt": ""})
    code, _ = run(base)
    failure = (base / "output" / "failure").read_text()
    assert code != 0
    assert "'trainn' cannot be started" in failure
    assert "[bash, run.sh]" in failure


def test_lines_of_a_shell_do_not_hide_the_reason(tmp_path: Path) -> None:
    base = host(tmp_path, {"command": ["bash", "-c", "echo 1\n" * 40 + "exit 3"]}, {"a.txt": ""})
    run(base)
    failure = (base / "output" / "failure").read_text()
    assert failure.startswith("bash -c echo 1")
    assert failure.index("exit code 3") < 100


def test_numbers_keep_their_form(tmp_path: Path) -> None:
    base = host(tmp_path, {}, {"train.py": SHOW})
    parameters = {"lr": "0.0", "wd": "1e-4", "text": '"0.10"', "sagemaker_program": '"train.py"'}
    (base / "input/config/hyperparameters.json").write_text(json.dumps(parameters))
    job = read_job(Settings(base=base))
    assert script_command(job) == [
        *[sys.executable, "-u", "train.py"],
        *["--lr", "0.0", "--text", "0.10", "--wd", "1e-4"],
    ]
    assert json.dumps(job.hyperparameters["wd"]) == "0.0001"


def test_the_folder_of_the_checkpoints_outlives_the_host(tmp_path: Path) -> None:
    """A script that writes to a folder of its own writes below the checkpoints."""
    script = """
import os, pathlib
out = pathlib.Path("runs/out")
print("FOUND", sorted(path.name for path in out.iterdir()))
(out / f"epoch_{len(list(out.iterdir()))}.pt").write_text("x")
open(os.path.join(os.environ["SM_MODEL_DIR"], "model"), "w").close()
"""
    rules = {"checkpoint": {"folder": "runs/out", "pattern": "epoch_*.pt", "keep": 2}}
    base = host(tmp_path, rules, {"train.py": script, "runs/out/README": "shipped"})
    first, log = run(base)
    assert first == 0, log
    again, log = run(base)
    assert again == 0, log
    assert "FOUND ['README', 'epoch_1.pt']" in log
    folder = base / "checkpoints" / "runs" / "out"
    assert sorted(path.name for path in folder.iterdir()) == ["README", "epoch_1.pt", "epoch_2.pt"]
    declared = read_job(Settings(base=base)).checkpoint_rules
    assert declared is not None
    assert (declared.folder, declared.pattern, declared.keep) == (folder, "epoch_*.pt", 2)
    assert (declared.step, declared.step_by, declared.automatic) == (None, "name", False)
