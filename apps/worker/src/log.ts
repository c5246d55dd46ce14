import type { Writable } from 'node:stream'

export interface Log {
  /** Words of ours, ids and codes only: nothing that came from an upstream, a seal or a guest. */
  write(
    event: string,
    detail?: Readonly<Record<string, string | number | boolean | undefined>>,
  ): void
}

/** One JSON line an event. A reader that went away (the gateway that started us) does not end the worker. */
export function jsonLines(stream: Writable, now: () => number): Log {
  stream.on('error', () => {})
  return {
    write: (event, detail) => {
      if (!stream.writable) return
      stream.write(`${JSON.stringify({ time: new Date(now()).toISOString(), event, ...detail })}\n`)
    },
  }
}
