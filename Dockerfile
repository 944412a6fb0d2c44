FROM node:26-slim AS build

WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY . .
RUN node packaging/npm/build.ts

FROM node:26-slim

ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    DATABASE_URL=file:/data/largesse.db

WORKDIR /app
COPY --from=build /build/build/npm ./

# The database and, beside it, the key file.
RUN install --directory --owner=node --group=node --mode=0700 /data
VOLUME /data
USER node

EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=15s --retries=3 CMD ["node", "bin/largesse.js", "health"]

CMD ["node", "bin/largesse.js", "serve"]
