# The image of `make images` for those who have an engine:
#   docker build -f images/operator.Dockerfile -t svc/operator .
# It is built by the same program, in a stage that is thrown away. A test holds what stands here
# against images/operator-image.ts.
FROM node:24-bookworm AS build
WORKDIR /src
COPY . .
RUN npm ci && make images && mkdir /archive /image && \
    tar -xf dist/images/operator.tar -C /archive && \
    for blob in /archive/blobs/sha256/*; do \
      if gzip -t "$blob" 2>/dev/null; then tar -xzf "$blob" -C /image; fi; \
    done

FROM scratch
COPY --from=build /image /
USER 65532:65532
WORKDIR /
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/svc/bin/node", "--enable-source-maps", "/opt/svc/operator/main.mjs"]
