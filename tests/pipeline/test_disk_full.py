"""A disk that is full during a study: a clear error, nothing left over, and the study resumes when there is room."""

from pathlib import Path

from faults.small_disk import run_on_small_disk
from pipeline.studies import contents


def test_a_full_disk(study: Path, tmp_path: Path) -> None:
    told = run_on_small_disk(
        study, tmp_path / "disk", "piecework.pipeline.run:run", size_kb=300, step_kb=500, timeout_s=200
    )
    assert told.errors
    assert all("no space left on the disk; make room and run the command again" in error for error in told.errors)
    assert [name for name in told.left if name.endswith(".tmp")] == []
    # The resolved study has the path of its corpus relative to its own folder, which differs here. The report shows it.
    without = ("run.json", "study.toml", "report.html")
    found = {name: data for name, data in told.files.items() if name not in without}
    assert found == contents(study.parent / "out", without=without)
