# The server as an image: `docker build -t crosspoint .` (docs/guides/deploying.md).

# Only npm is used of this one's Node: the runtime that serves is the pinned one.
ARG BUILDER=node:24-bookworm-slim
ARG BASE=debian:bookworm-slim

FROM ${BUILDER} AS build
WORKDIR /src
COPY . .
# The launcher installs what the lock files say and builds the console; a package has neither sources nor what builds it.
RUN npm pack --pack-destination /tmp \
 && mkdir -p /opt/crosspoint \
 && tar -xzf /tmp/crosspoint-*.tgz -C /opt/crosspoint --strip-components=1 \
 && mv node_modules /opt/crosspoint/node_modules
# Compiled code is read at each start, and an image that cannot be written has to bring it along: one start leaves it. Node keeps it
# apart by user and by options, so this is the start that the image makes.
RUN cache=/opt/crosspoint/node_modules/.cache/crosspoint && mkdir -p $cache && chown 10001 $cache && cd /tmp \
 && CROSSPOINT_PORT=0 CROSSPOINT_DRAIN_SECONDS=0 CROSSPOINT_DATA_DIR=/tmp/data timeout --preserve-status 20 \
      setpriv --reuid 10001 --regid 10001 --clear-groups /opt/crosspoint/node_modules/.bin/node \
      --min-semi-space-size=2 --max-semi-space-size=8 --no-parallel-scavenge /opt/crosspoint/bin/crosspoint.mjs serve > /dev/null \
 && chmod -R a+rX $cache && test -n "$(ls $cache)"

FROM ${BASE}
LABEL org.opencontainers.image.title="Crosspoint" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/crosspoint /opt/crosspoint
RUN mkdir -m 0700 /data && chown 10001:10001 /data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
# The last three bound the memory of the process (scripts/server-process.mjs).
ENV CROSSPOINT_HOST=0.0.0.0 \
    CROSSPOINT_DATA_DIR=/data \
    MALLOC_MMAP_THRESHOLD_=4194304 \
    MALLOC_TRIM_THRESHOLD_=4194304 \
    MALLOC_ARENA_MAX=2
ENTRYPOINT ["/opt/crosspoint/node_modules/.bin/node", "--min-semi-space-size=2", "--max-semi-space-size=8", "--no-parallel-scavenge", "/opt/crosspoint/bin/crosspoint.mjs"]
CMD ["serve"]
# Whether it lives: whether it should be sent anything is /readyz' to say.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["/opt/crosspoint/node_modules/.bin/node", "-e", "fetch(`http://127.0.0.1:${process.env.CROSSPOINT_PORT || 8000}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
