"""What a platform or `spark-submit` has set for Spark: it wins over our defaults, and our settings win over it."""

import os
from importlib.util import find_spec
from pathlib import Path

# What `spark-submit` is given to run.
PROGRAM = Path(__file__).parents[2] / "__main__.py"
# Spark's own names: the first is set by spark-submit for the program that it runs, the second is read by pyspark.
_SUBMITTED = ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS")
# What spark-submit itself takes from the environment where nothing else says it.
_OF_ENVIRONMENT = {"MASTER": "spark.master", "SPARK_DRIVER_MEMORY": "spark.driver.memory"}


def is_submitted() -> bool:
    """It is said already how Spark is to be started: nothing but what was asked of us by name is added to it."""
    return any(name in os.environ for name in _SUBMITTED)


def launched_already() -> bool:
    """Spark's JVM runs, and this program in it: what it was started with cannot be changed."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def given_conf() -> dict[str, str]:
    """Settings of the environment and of spark-defaults.conf, which any JVM of this machine reads when it starts."""
    of_environment = {
        setting: value for name, setting in _OF_ENVIRONMENT.items() if (value := os.environ.get(name, "").strip())
    }
    return {**of_environment, **_defaults_file()}


def _defaults_file() -> dict[str, str]:
    folder = os.environ.get("SPARK_CONF_DIR") or (_spark_home() / "conf")
    try:
        text = (Path(folder) / "spark-defaults.conf").read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    found = {}
    for line in text.splitlines():
        # Java's properties: a name, then white space, = or :, then the value.
        words = line.strip().replace("=", " ", 1).split(None, 1)
        if len(words) == 2 and not words[0].startswith(("#", "!")):
            found[words[0].rstrip(":")] = words[1].strip()
    return found


def _spark_home() -> Path:
    if home := os.environ.get("SPARK_HOME"):
        return Path(home)
    pyspark = find_spec("pyspark")
    return Path() if pyspark is None or pyspark.origin is None else Path(pyspark.origin).parent
