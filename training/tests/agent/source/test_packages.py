"""What a source brings for pip, beside a requirements.txt of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agent_runs import run
from sagemaker_host import make_host
from tidewheel_agent.configuration.read_job import read_job
from tidewheel_agent.configuration.settings import Settings
from tidewheel_agent.source.packages import installations
from tidewheel_agent.source.place import place_source

PROJECT = '[project]\nname = "churn"\nversion = "1"\n'
BUILD = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
BACKEND = """
import pathlib, zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "churn-1-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        for file in pathlib.Path("src").rglob("*.py"):
            wheel.write(file, file.relative_to("src"))
        at = "churn-1.dist-info/"
        wheel.writestr(at + "METADATA", "Metadata-Version: 2.1\\nName: churn\\nVersion: 1\\n")
        wheel.writestr(at + "WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        programs = "[console_scripts]\\nchurn-train = churn.cli:main\\n"
        wheel.writestr(at + "entry_points.txt", programs)
        wheel.writestr(at + "RECORD", "")
    return name
"""
PACKAGE = {
    "backend.py": BACKEND,
    "src/churn/__init__.py": "",
    "src/churn/cli.py": "def main():\n    print('trains', __name__)\n",
}


def host(tmp_path: Path, files: dict[str, str], **given: str) -> Path:
    source = tmp_path / "source"
    for name, text in {"train.py": "import churn.cli\nchurn.cli.main()\n", **files}.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    parameters = {"sagemaker_program": "train.py", **given}
    return make_host(tmp_path / "host", source=source, hyperparameters=parameters)


def found(tmp_path: Path, files: dict[str, str], **given: str) -> list[tuple[str, ...]]:
    job = read_job(Settings(base=host(tmp_path, files, **given)))
    place_source(job)
    work = tmp_path / "work"
    work.mkdir()
    wanted = installations(job, work)
    short = {str(job.code_dir): "CODE", str(work): "WORK"}
    texts = [(each.name, *each.arguments) for each in wanted]
    for long, name in short.items():
        texts = [tuple(part.replace(long, name) for part in text) for text in texts]
    return texts


ITSELF = "the package of the source"


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({"requirements.txt": "# none\n"}, []),
        ({"requirements.txt": "six\n"}, [("requirements.txt", "-r", "CODE/requirements.txt")]),
        ({"setup.py": ""}, [(ITSELF, ".")]),
        ({"pyproject.toml": "[tool.ruff]\nline-length = 100\n"}, []),
        ({"pyproject.toml": PROJECT}, [(ITSELF, "--no-deps", ".")]),
        ({"pyproject.toml": PROJECT + 'dynamic = ["dependencies"]\n'}, [(ITSELF, ".")]),
        ({"pyproject.toml": "[project]\nnot toml"}, [(ITSELF, ".")]),
        (
            {"pyproject.toml": PROJECT + 'dependencies = ["six", "numpy>=2"]\n'},
            [
                ("the dependencies of pyproject.toml", "-r", "WORK/dependencies.txt"),
                (ITSELF, "--no-deps", "."),
            ],
        ),
        (
            {"pyproject.toml": PROJECT + 'dependencies = ["six"]\n', "requirements.txt": "six"},
            [("requirements.txt", "-r", "CODE/requirements.txt"), (ITSELF, "--no-deps", ".")],
        ),
    ],
)
def test_what_lies_there_is_installed(
    tmp_path: Path, files: dict[str, str], wanted: list[tuple[str, ...]]
) -> None:
    assert found(tmp_path, files) == wanted
    dependencies = tmp_path / "work" / "dependencies.txt"
    assert not dependencies.exists() or dependencies.read_text() == "six\nnumpy>=2\n"


def test_requirements_beside_the_script_are_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"scripts/train.py": "", "scripts/requirements.txt": "six\n"}
    named = "scripts/requirements.txt"
    wanted = [(named, "-r", f"CODE/{named}")]
    assert found(tmp_path / "one", files, sagemaker_program="scripts/train.py") == wanted
    both = {**files, "requirements.txt": "numpy\n"}
    wanted = [("requirements.txt", "-r", "CODE/requirements.txt")]
    assert found(tmp_path / "both", both, sagemaker_program="scripts/train.py") == wanted
    assert (
        f"{named} is not installed: the source's own requirements.txt is" in capsys.readouterr().out
    )


def test_a_src_layout_and_its_program_start(tmp_path: Path) -> None:
    document = json.dumps({"command": ["churn-train"]})
    files = {**PACKAGE, "pyproject.toml": BUILD}
    target = tmp_path / "site"
    for name, given in (("script", {}), ("command", {"tidewheel_script": document})):
        base = host(tmp_path / name, files, **given)
        path = f"{target / 'bin'}{os.pathsep}{os.environ['PATH']}"
        code, log = run(base, PIP_TARGET=str(target), PYTHONPATH=str(target), PATH=path)
        assert code == 0, log
        assert "installed the package of the source" in log
        assert "trains churn.cli" in log


def test_a_source_that_is_no_package_trains_all_the_same(tmp_path: Path) -> None:
    broken = {
        "pyproject.toml": BUILD,
        "backend.py": "",
        "churn/cli.py": PACKAGE["src/churn/cli.py"],
    }
    code, log = run(host(tmp_path, broken), PIP_TARGET=str(tmp_path / "site"))
    assert code == 0, log
    assert "the package of the source cannot be installed" in log
    assert "The script starts all the same." in log
    assert "trains churn.cli" in log


def test_what_pip_is_at_is_reported(tmp_path: Path) -> None:
    base = host(tmp_path, {"requirements.txt": "tidetest-that-does-not-exist==9\nsix\n"})
    assert run(base, PIP_NO_INDEX="1")[0] == 1
    (file,) = (base / "checkpoints" / "tidewheel-evidence").glob("*-phases.json")
    assert json.loads(file.read_text())["installing"] == {
        "what": "requirements.txt",
        "packages": 2,
    }
