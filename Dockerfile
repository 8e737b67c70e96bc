# An image with the static program, for amd64 and arm64. See docs/operating.md.

# This stage runs on the processor of this machine, and compiles for the other one too.
FROM --platform=$BUILDPLATFORM rust:1.95.0-bookworm AS build
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
ARG TARGETARCH
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/source/target \
    PACKAGE_FOLDER=/programs ./tools/package "$TARGETARCH" binary

# The workflow of a release has the programs already: it gives their folder in place of this stage.
FROM scratch AS programs
COPY --from=build /programs /

# It has root certificates, an unprivileged user, and no shell.
FROM gcr.io/distroless/static-debian12:nonroot AS base

FROM base
ARG TARGETARCH
ARG VERSION=unreleased
ARG SOURCE=
ARG REVISION=
LABEL org.opencontainers.image.title="Triptych" \
      org.opencontainers.image.description="Three well-known sample APIs, implemented for real" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.revision="$REVISION"
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/triptych/
COPY --from=programs /$TARGETARCH/LICENCES-OF-DEPENDENCIES /usr/share/doc/triptych/
COPY --from=programs --chmod=755 /$TARGETARCH/triptych /usr/bin/
# An empty folder of the unprivileged user.
COPY --from=base --chown=65532:65532 /home/nonroot /var/lib/triptych

# Other machines can reach these listeners, so there is no demo. The data is in a folder below the volume: the program creates it
# for its own user only, and the mode of a volume is often another.
ENV TRIPTYCH_DATA=/var/lib/triptych/data \
    TRIPTYCH_PETSTORE_LISTEN=0.0.0.0:8080 \
    TRIPTYCH_TRAIN_LISTEN=0.0.0.0:8081 \
    TRIPTYCH_MUSEUM_LISTEN=0.0.0.0:8082 \
    TRIPTYCH_ADMIN_LISTEN=0.0.0.0:8090
WORKDIR /etc/triptych
VOLUME /var/lib/triptych
EXPOSE 8080 8081 8082 8090
USER 65532:65532
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --retries=3 CMD ["/usr/bin/triptych", "health"]
ENTRYPOINT ["/usr/bin/triptych"]
CMD ["serve"]
