# The image holds one static program, and runs it as an ordinary user on the
# directory mounted at /site:
#
#   docker build -t wellspring .
#   docker run --rm -u "$(id -u)" -v "$PWD/public:/site" wellspring build --base-url https://example.org/
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags=-s -o /wellspring ./cmd/wellspring

FROM scratch
LABEL org.opencontainers.image.title="Wellspring" \
      org.opencontainers.image.description="Publishes a directory as a ResourceSync Source" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /wellspring /wellspring
USER 65534:65534
WORKDIR /site
ENTRYPOINT ["/wellspring"]
