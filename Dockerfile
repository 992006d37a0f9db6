# Lakebed with every extra and a Java for Spark, at the versions of the lock file:
#   docker build -t lakebed .
#   docker run --rm -v "$PWD:/data" lakebed run bills --target duckdb:costs.duckdb
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
WORKDIR /source
COPY requirements/dev.txt requirements/
# Hashes out: a wheel that is built here has none, and pip takes all or nothing.
RUN sed -e '/--hash/d' -e 's/ \\$//' requirements/dev.txt > pins.txt
ENV PIP_CONSTRAINT=/source/pins.txt PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-deps --wheel-dir dist . \
    && python -m venv /opt/lakebed \
    && /opt/lakebed/bin/pip install "$(find dist -name 'lakebed-*.whl')[all]"

FROM ${PYTHON_IMAGE}
# Debian serves one version of a package at a time: a pinned one would be gone with the next security fix.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 lakebed \
    && install -d -o lakebed -g lakebed /data
COPY --from=build /opt/lakebed /opt/lakebed
ENV PATH=/opt/lakebed/bin:$PATH
USER lakebed
# The ledger, staged copies and local tables lie below it: mount a volume there.
WORKDIR /data
ENTRYPOINT ["lakebed"]
CMD ["--help"]
