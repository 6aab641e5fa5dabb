# The image of `make images` for those who have an engine:
#   docker build -f images/server.Dockerfile -t svc/server .
# It is built by the same program, in a stage that is thrown away. A test holds what stands here
# against images/server-image.ts.
FROM node:24-bookworm AS build
WORKDIR /src
COPY . .
RUN npm ci && make images && mkdir /archive /image && \
    tar -xf dist/images/server.tar -C /archive && \
    for blob in /archive/blobs/sha256/*; do \
      if gzip -t "$blob" 2>/dev/null; then tar -xzf "$blob" -C /image; fi; \
    done

FROM scratch
COPY --from=build /image /
COPY --from=build --chown=65532:65532 /image/data /data
ENV SVC_SERVER_ROOTPATH=/data SVC_STORAGE_ENGINE=native
USER 65532:65532
WORKDIR /data
VOLUME ["/data"]
EXPOSE 2480 2490 2434
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/svc/bin/node", "/opt/svc/bin/launch.mjs"]
CMD ["start"]
