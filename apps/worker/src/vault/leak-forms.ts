/** The forms in which a server might say a secret it was given, and the search for them in what it answers. */

/** Shorter ones are words of ordinary text: a search for them would withhold answers that leak nothing. */
const shortest = 8
/** Every answer is searched for each: a value of many words must not make that long. What is whole goes first. */
const mostSecrets = 32

/** Forms of secrets that are sent in headers: tokens and header values. */
export function formsOfValues(values: readonly string[]): Buffer[] {
  return formsOf([...values, ...values.flatMap(partsOf)])
}

/** Forms of what a URL hides: values of its query, and parts of its path that do not look like a word. */
export function formsOfUrl(url: string): Buffer[] {
  const { pathname, search, searchParams } = new URL(url)
  const segments = pathname.split('/').flatMap((part) => [part, decoded(part)])
  const written = search
    .slice(1)
    .split('&')
    .map((pair) => pair.slice(pair.indexOf('=') + 1))
  return formsOf([...segments.filter(looksSecret), ...written, ...searchParams.values()])
}

/** True when the bytes hold one of the forms, or would if their JSON escapes were written plainly. */
export function holdsForm(raw: Buffer, forms: readonly Buffer[]): boolean {
  if (includesForm(raw, forms)) return true
  if (forms.length === 0 || !(raw.includes('\\u') || raw.includes('\\/'))) return false
  return includesForm(unescaped(raw), forms)
}

const backslash = 92
const letterU = 117
/** What b, f, n, r and t stand for behind a backslash. All others stand for themselves. */
const controls = new Map([
  [98, 8],
  [102, 12],
  [110, 10],
  [114, 13],
  [116, 9],
])

/**
 * Of the text, not of what it means: members said twice, an end that is missing and any depth are searched as well. One
 * character after the other: every other way is slow for some text, and who writes it chooses.
 */
function unescaped(json: Buffer): Buffer {
  const text = json.toString()
  const units = Buffer.allocUnsafe(2 * text.length)
  let length = 0
  for (let at = 0; at < text.length; at++) {
    let unit = text.charCodeAt(at)
    if (unit === backslash) {
      unit = text.charCodeAt(++at)
      if (unit === letterU) {
        unit = hexAt(text, at + 1)
        at += 4
      } else unit = controls.get(unit) ?? unit
    }
    units[length++] = unit & 255
    units[length++] = unit >>> 8
  }
  return Buffer.from(units.toString('utf16le', 0, length))
}

function hexAt(text: string, from: number): number {
  let value = 0
  for (let at = from; at < from + 4; at++) {
    const unit = text.charCodeAt(at)
    // Letters of both cases behind the digits.
    value = (value << 4) | (unit < 58 ? unit - 48 : (unit | 32) - 87)
  }
  return value & 0xffff
}

function includesForm(bytes: Buffer, forms: readonly Buffer[]): boolean {
  return forms.some((form) => bytes.includes(form))
}

/** A value may be a scheme and a credential; `Basic` is base64 of what a server reads from it. */
function partsOf(value: string): string[] {
  const parts = value.split(/\s+/)
  const basic = /^basic\s+(\S+)$/i.exec(value)?.[1]
  if (basic === undefined) return [value, ...parts]
  const pair = Buffer.from(basic, 'base64').toString()
  return [value, ...parts, pair, pair.slice(pair.indexOf(':') + 1)]
}

function looksSecret(part: string): boolean {
  const mixes = (one: RegExp, other: RegExp) => one.test(part) && other.test(part)
  return part.length >= 16 || mixes(/\d/, /[A-Za-z]/) || mixes(/[a-z]/, /[A-Z]/)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function formsOf(secrets: readonly string[]): Buffer[] {
  const sought = new Set(secrets.filter((secret) => secret.length >= shortest))
  const texts = [...sought].slice(0, mostSecrets).flatMap(spellings)
  return [...new Set(texts)].map((text) => Buffer.from(text))
}

function spellings(secret: string): string[] {
  const percent = encodeURIComponent(secret)
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    percent,
    percent.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()),
    ...base64Spellings(Buffer.from(secret)),
  ]
}

/**
 * Base64 of a text that holds the secret looks different for each of the three places it may start at; what is left
 * after the characters shared with the neighbours is the same whatever they are.
 */
function base64Spellings(secret: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), secret]).toString('base64')
    const shared = Math.ceil((offset * 8) / 6)
    const whole = Math.floor(((offset + secret.length) * 8) / 6)
    const inner = text.slice(shared, whole)
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')]
  })
}
