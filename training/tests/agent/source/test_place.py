"""What a source may not name where hosts have no /opt/ml of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from sagemaker_host import make_host
from tidewheel_agent.configuration.read_job import read_job
from tidewheel_agent.configuration.settings import ConfigurationError, Settings
from tidewheel_agent.source.place import place_source


def place(tmp_path: Path, files: dict[str, str], **declared: str) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name, text in {"train.py": "", **files}.items():
        (source / name).write_text(text)
    given = {"sagemaker_program": "train.py", **declared}
    base = make_host(tmp_path / "host", source=source, hyperparameters=given)
    place_source(read_job(Settings(base=base)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.py", "save = Path('/opt/ml/checkpoints')"),
        ("train.py", 'import os\nfolder = f"/opt/ml/checkpoints"  # a comment'),
        ("train.py", "os.environ.get('OUTPUT', '/opt/ml/checkpoints')"),
        ("train.py", "os.environ.get('SM_CHECKPOINT_DIR', '/opt/ml/checkpoints')"),
        ("train.py", "os.getenv('SM_HP_OUTPUT', '/opt/ml/checkpoints')"),
        ("train.py", "os.getenv('TIDEWHEEL_OUTPUT', '/opt/ml/checkpoints')"),
        ("run.sh", "python train.py --out=${SM_CHECKPOINTS:-/opt/ml/checkpoints}"),
        ("run.sh", "python train.py --out=/opt/ml/checkpoints"),
        ("config.yaml", "output: /opt/ml/checkpoints"),
        ("nb.ipynb", '{"source": ["torch.save(m, \\"/opt/ml/checkpoints\\")"]}'),
    ],
)
def test_a_file_that_names_the_folder_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        place(tmp_path, {name: text, "other.py": "print('/opt/ml')"})
    message = str(refused.value)
    assert f"{name} (/opt/ml/checkpoints)" in message
    assert "other.py (/opt/ml)" in message
    assert "TIDEWHEEL_CHECKPOINT_DIR" in message


def test_a_declaration_that_names_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"the declaration \(/opt/ml/model\)"):
        place(tmp_path, {}, output_dir="/opt/ml/model")


def test_what_names_it_in_passing_is_taken(tmp_path: Path) -> None:
    script = """
# SageMaker saves /opt/ml/model.
model = os.environ.get("SM_MODEL_DIR", "/opt/ml/model")
train = os.getenv(
    'SM_CHANNEL_TRAIN',
    '/opt/ml/input/data/train',
)
other = "/data/opt/ml/x", "/opt/mlflow"
"""
    shell = 'python train.py --model "${SM_MODEL_DIR:-/opt/ml/model}"  # not /opt/ml\n'
    place(tmp_path, {"train.py": script, "run.sh": shell, "README.md": "Saves to /opt/ml/model."})
