/** The few DER forms (X.690) a certificate is made of. */
type Part = Uint8Array

function length(size: number): Buffer {
  if (size < 128) return Buffer.from([size])
  const bytes: number[] = []
  for (let rest = size; rest > 0; rest >>>= 8) bytes.unshift(rest & 255)
  return Buffer.from([0x80 | bytes.length, ...bytes])
}

export function tagged(tag: number, ...parts: Part[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), length(body.length), body])
}

export const sequence = (...parts: Part[]): Buffer => tagged(0x30, ...parts)
export const set = (...parts: Part[]): Buffer => tagged(0x31, ...parts)
export const octets = (bytes: Part): Buffer => tagged(0x04, bytes)
export const utf8 = (text: string): Buffer => tagged(0x0c, Buffer.from(text))
export const truth = tagged(0x01, Buffer.from([0xff]))

/** A positive number as bytes; the caller keeps the first bit clear. */
export const integer = (bytes: Part): Buffer => tagged(0x02, bytes)

export function bits(bytes: Part, unused = 0): Buffer {
  return tagged(0x03, Buffer.from([unused]), bytes)
}

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const arc of rest) {
    const septets = [arc & 127]
    for (let high = arc >>> 7; high > 0; high >>>= 7) septets.unshift((high & 127) | 128)
    bytes.push(...septets)
  }
  return tagged(0x06, Buffer.from(bytes))
}

/** UTCTime until 2049, GeneralizedTime after (RFC 5280 4.1.2.5). */
export function time(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`
  return digits < '2050'
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits))
}
