/** Formats of JSON Schema 2020-12 that overlays may assert. */
import type { Ajv, Format } from 'ajv'
import formats from 'ajv-formats'

const known = [
  'date',
  'date-time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'json-pointer',
  'regex',
  'relative-json-pointer',
  'time',
  'uri',
  'uri-reference',
  'uri-template',
  'uuid',
] as const

/** The expressions behind formats backtrack; nothing that has one of these formats is longer. */
const longest = 2048

export function assertFormats(ajv: Ajv): void {
  formats.default(ajv, [...known])
  for (const name of known) {
    const test = testOf(ajv.formats[name] as Format)
    ajv.addFormat(name, {
      type: 'string',
      validate: (text) => text.length <= longest && test(text),
    })
  }
}

function testOf(format: Format): (text: string) => boolean {
  if (format instanceof RegExp) return (text) => format.test(text)
  if (typeof format === 'function') return format as (text: string) => boolean
  if (typeof format === 'object' && 'validate' in format) return testOf(format.validate as Format)
  throw new TypeError('a format of another kind')
}
