/** Preloaded: what waits for ten minutes or longer waits for a fifth of a second. */
const { setTimeout: whole } = globalThis
globalThis.setTimeout = (run, ms, ...more) => whole(run, ms >= 600_000 ? 200 : ms, ...more)
