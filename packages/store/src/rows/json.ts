/** JSON as it is kept. What is read is frozen, because equal texts share one value. */

const remembered = new Map<string, unknown>()
const rememberedTexts = 1000
const rememberedLength = 2048

export function keepJson(value: unknown): string {
  const text = JSON.stringify(value)
  if (text === undefined) throw new TypeError('not a JSON value')
  return text
}

/**
 * Rows that decide about a call are read for each call and rarely change: their small JSON parts are parsed once and
 * remembered by their text.
 */
export function readJson(text: string): unknown {
  if (text.length > rememberedLength) return freeze(JSON.parse(text))
  let value = remembered.get(text)
  if (value === undefined) {
    value = freeze(JSON.parse(text))
    if (remembered.size >= rememberedTexts) remembered.clear()
    remembered.set(text, value)
  }
  return value
}

/** Deep, in place. */
export function freeze<T>(value: T): T {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) freeze(part)
  return Object.freeze(value)
}
