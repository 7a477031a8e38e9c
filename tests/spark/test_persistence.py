"""Models of Spark in files: saved, read again, and refused if they are damaged or forged."""

import json
from pathlib import Path

import pytest

import sthash
from support.factories import build_vector_model, random_vectors

pytestmark = pytest.mark.usefixtures("needs_spark")


def test_params_pipeline_and_persistence(spark, table, model, encoded, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel

    from sthash.spark import SelfTaughtHashing, SelfTaughtHashingModel

    estimator = SelfTaughtHashing(inputCol="text").setNumBits(16).setNumNeighbors(8).setSampleSize(100).setSeed(5)
    assert estimator.getNumBits() == 16
    assert "bits of a code" in estimator.explainParams()
    assert estimator.copy({estimator.numBits: 12}).getNumBits() == 12
    estimator.save(str(tmp_path / "estimator"))
    assert SelfTaughtHashing.load(str(tmp_path / "estimator")).getSampleSize() == 100

    model.save(str(tmp_path / "model"))
    again = SelfTaughtHashingModel.load(f"file:{tmp_path}/model")
    assert again.uid == model.uid
    assert again.extractParamMap() == {again.getParam(p.name): v for p, v in model.extractParamMap().items()}
    assert sorted(again.transform(table).collect()) == sorted(encoded.collect())
    saved = sthash.TextModel.load(tmp_path / "model" / "model.safetensors")
    assert saved.fingerprint == model.model.fingerprint
    with pytest.raises(FileExistsError, match="overwrite"):
        model.save(str(tmp_path / "model"))
    again.write().overwrite().save(str(tmp_path / "model"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["estimator", "model"]

    piped = Pipeline(stages=[estimator]).fit(table)
    piped.save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    assert sorted(loaded.transform(table).collect()) == sorted(piped.transform(table).collect())


def test_a_model_from_a_newer_version_or_a_damaged_one_is_refused(model, tmp_path):
    from sthash.spark import SelfTaughtHashingModel

    with pytest.raises(FileNotFoundError, match="is not a saved model"):
        SelfTaughtHashingModel.load(str(tmp_path / "nothing"))
    path = tmp_path / "model"
    model.save(str(path))
    file = path / "model.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[:-3] + b"abc")
    for check in path.rglob(".*.crc"):
        check.unlink()
    with pytest.raises(sthash.ModelFileError, match=r"model/model.safetensors is damaged"):
        SelfTaughtHashingModel.load(str(path))
    file.unlink()
    with pytest.raises(FileNotFoundError, match="not whole"):
        SelfTaughtHashingModel.load(str(path))
    (metadata,) = (path / "metadata").glob("part-*")
    header = json.loads(metadata.read_text())
    header["sthash"]["format"] = 2
    metadata.write_text(json.dumps(header))
    with pytest.raises(sthash.ModelFileError, match="newer version"):
        SelfTaughtHashingModel.load(str(path))


def rewritten(path, change):
    """Change the metadata of a saved model, as a stranger may."""
    (metadata,) = (path / "metadata").glob("part-*")
    header = json.loads(metadata.read_text())
    change(header)
    metadata.write_text(json.dumps(header) + "\n")
    for check in path.rglob(".*.crc"):
        check.unlink()


def test_names_in_the_metadata_lead_nowhere(model, tmp_path):
    """A stranger's metadata named files of the reader, which loading replaced with the stranger's."""
    from sthash.spark import SelfTaughtHashingModel

    victim = tmp_path / "home" / "victim"
    victim.parent.mkdir()
    victim.write_text("mine")
    path = tmp_path / "model"
    model.save(str(path))
    before = sorted(file.name for file in tmp_path.rglob("*") if file.suffix != ".crc")
    for name in (str(victim), "../home/victim", "../../victim"):
        evil = Path(f"{path}/{name.lstrip('/')}")
        evil.parent.mkdir(parents=True, exist_ok=True)
        if evil.resolve() != victim:
            evil.write_text("the stranger's")
        rewritten(path, lambda header, name=name: header["sthash"].setdefault("files", []).insert(0, name))
        assert SelfTaughtHashingModel.load(str(path)).model.n_bits > 0
        assert victim.read_text() == "mine"
    assert set(before) <= {file.name for file in tmp_path.rglob("*")}


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.update(sthash=5),
        lambda header: header.update(sthash=None),
        lambda header: header["sthash"].update(format="1"),
        lambda header: header["sthash"].update(format=[1]),
        lambda header: header.update(paramMap={"nothing": 1}),
        lambda header: header.update(paramMap=7),
        lambda header: header.pop("uid"),
        lambda header: header.pop("class"),
    ],
)
def test_malformed_metadata_ends_in_a_documented_error(model, tmp_path, change):
    from sthash.spark import SelfTaughtHashingModel

    model.save(str(tmp_path / "model"))
    rewritten(tmp_path / "model", change)
    with pytest.raises((sthash.ModelFileError, FileNotFoundError)):
        SelfTaughtHashingModel.load(str(tmp_path / "model"))


def test_a_failed_save_leaves_nothing(model, tmp_path, monkeypatch):
    from sthash.spark import persistence

    def fail(*arguments):
        raise OSError("disk full")

    model.save(str(tmp_path / "model"))
    monkeypatch.setattr(persistence, "_write", fail)
    with pytest.raises(OSError, match="disk full"):
        model.write().overwrite().save(str(tmp_path / "model"))
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert type(model).load(str(tmp_path / "model")).uid == model.uid


class Refusing:
    """A file system whose rename fails, as HDFS and object stores say it: by False."""

    def __init__(self, system, may_rename):
        self.system, self.may_rename = system, may_rename

    def __getattr__(self, name):
        return getattr(self.system, name)

    def rename(self, source, target):
        """Rename if that is allowed."""
        return self.may_rename(source.getName(), target.getName()) and self.system.rename(source, target)


@pytest.mark.parametrize("end", ["replaced", "saving"])
def test_a_rename_that_fails_keeps_the_old_model(model, tmp_path, monkeypatch, end):
    from sthash.spark import persistence

    path, located = tmp_path / "model", persistence._located
    model.save(str(path))

    def may(source, target):
        return not (target.endswith(end) or source.endswith(end)) or (end == "replaced" and source.endswith(end))

    monkeypatch.setattr(
        persistence, "_located", lambda spark, path: (Refusing(located(spark, path)[0], may), located(spark, path)[1])
    )
    with pytest.raises(OSError, match="cannot rename"):
        model.write().overwrite().save(str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert type(model).load(str(path)).uid == model.uid


def test_a_save_that_is_killed_between_its_renames_keeps_the_old_model(model, tmp_path):
    path = tmp_path / "model"
    model.save(str(path))
    path.rename(tmp_path / f"model.{'0' * 32}.replaced")  # what such a save leaves
    assert type(model).load(str(path)).uid == model.uid
    model.write().overwrite().save(str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_models_that_compare_by_inner_product_are_refused():
    from sthash.spark import SelfTaughtHashingModel

    vectors = random_vectors(60, 6)
    with pytest.raises(ValueError, match=r"metric='ip', but Spark does so by cosine"):
        SelfTaughtHashingModel(build_vector_model(vectors, metric="ip"))
    assert SelfTaughtHashingModel(build_vector_model(vectors)).n_bits == 8
