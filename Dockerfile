# The image holds one static program, and runs it as an ordinary user on the
# directory mounted at /site:
#
#   docker build -t wellspring --build-arg VERSION="$(git describe)" .
#   docker run --rm -u "$(id -u)" -v "$PWD/public:/site" wellspring build --base-url https://example.org/
#
# .ci/container carries out these lines without Docker: paths that RUN writes to are
# relative.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -X main.version=$VERSION" -o image/wellspring ./cmd/wellspring
# For --previous https://…, the certificates that it trusts; for audits of many
# resources, room beside the site.
RUN mkdir -p image/etc/ssl/certs image/tmp site && \
    cp /etc/ssl/certs/ca-certificates.crt image/etc/ssl/certs/ && \
    chmod 1777 image/tmp

FROM scratch
ARG VERSION=
LABEL org.opencontainers.image.title="Wellspring" \
      org.opencontainers.image.description="Publishes a directory as a ResourceSync Source" \
      org.opencontainers.image.source="https://github.com/wellspring-sync/wellspring" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /src/image /
COPY --from=build --chown=65534:65534 /src/site /site
USER 65534:65534
WORKDIR /site
ENTRYPOINT ["/wellspring"]
