import { expect, test } from 'vitest'
import { openApiDocument } from './open-api.ts'
import { type Route, routes } from './routes.ts'

type Members = Record<string, unknown>
const document = openApiDocument()

/** The value under these member names. */
function at(...steps: readonly string[]): unknown {
  return steps.reduce<unknown>((value, step) => (value as Members | undefined)?.[step], document)
}

function everyObject(value: unknown, visit: (object: Members) => void): void {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) visit(value as Members)
  for (const part of Object.values(value)) everyObject(part, visit)
}

test('is an OpenAPI 3.1 document with every route of the table, each once', () => {
  expect(at('openapi')).toBe('3.1.0')
  const operations = Object.values(at('paths') as Members).flatMap((item) =>
    Object.values(item as Record<string, { operationId: string }>).map(
      ({ operationId }) => operationId,
    ),
  )
  expect(operations.sort()).toEqual(Object.keys(routes).sort())
})

test('puts each route under its path and method, with its path parameters', () => {
  for (const [name, { path, method }] of Object.entries<Route>(routes)) {
    const operation = ['paths', path, method.toLowerCase()]
    expect(at(...operation, 'operationId')).toBe(name)
    const inPath = (at(...operation, 'parameters') as { in: string; name: string }[])
      .filter((parameter) => parameter.in === 'path')
      .map((parameter) => `{${parameter.name}}`)
    expect(inPath).toEqual(path.match(/\{\w+\}/g) ?? [])
  }
})

test('has no reference that leads nowhere and no keyword of a nested document', () => {
  const references = new Set<string>()
  everyObject(document, (object) => {
    expect(object).not.toHaveProperty('$defs')
    expect(object).not.toHaveProperty('$schema')
    if (typeof object['$ref'] === 'string') references.add(object['$ref'])
  })
  expect(references).toContain('#/components/schemas/Connection')
  for (const reference of references)
    expect(at(...reference.slice(2).split('/')), reference).toBeTypeOf('object')
})

test('says what a request may leave out and that an answer holds nothing else', () => {
  const content = ['content', 'application/json', 'schema']
  const body = ['paths', '/connections', 'post', 'requestBody', ...content]
  expect(at(...body, 'required')).toEqual(['name'])
  const answer = ['components', 'schemas', 'Connection']
  expect(at(...answer, 'additionalProperties')).toBe(false)
})
