/** The OpenAPI 3.1 document, made from the table of routes; nothing is written twice. */
import { z } from 'zod'
import { release } from '../release.ts'
import { catalog } from './catalogs.ts'
import { connection } from './connections.ts'
import { execution } from './executions.ts'
import { check, setting, status } from './operation.ts'
import { json } from './parts.ts'
import { grant, profile } from './profiles.ts'
import { errorBody, type Route, routes } from './routes.ts'
import { session } from './sessions.ts'
import { apiToken, user } from './users.ts'

type JsonObject = Record<string, unknown>

/** Schemas that get a name of their own; the others are written where they are used. */
const named = z.registry<{ id: string }>()
for (const [id, schema] of Object.entries({
  Json: json,
  User: user,
  Token: apiToken,
  Connection: connection,
  Catalog: catalog,
  Profile: profile,
  Grant: grant,
  Session: session,
  Execution: execution,
  Status: status,
  Check: check,
  Setting: setting,
  Error: errorBody,
}))
  named.add(schema, { id })

export function openApiDocument(): JsonObject {
  const components: JsonObject = {}
  const paths: Record<string, JsonObject> = {}
  for (const [name, route] of Object.entries<Route>(routes)) {
    paths[route.path] ??= {}
    ;(paths[route.path] as JsonObject)[route.method.toLowerCase()] = operation(
      name,
      route,
      components,
    )
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sallyport control API',
      version: release,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1' }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: components,
    },
  }
}

function operation(name: string, route: Route, components: JsonObject): JsonObject {
  const body = route.body && {
    required: !route.body.safeParse(undefined).success,
    content: content(convert(route.body, 'input', components)),
  }
  return {
    operationId: name,
    tags: [name.split('.')[0]],
    summary: route.summary,
    description: `Least role: ${route.role}.`,
    parameters: [...pathParameters(route), ...queryParameters(route, components)],
    ...(body ? { requestBody: body } : {}),
    responses: {
      200: { description: 'Done', content: content(convert(route.answer, 'output', components)) },
      default: {
        description: 'Refused or failed, with the HTTP status of its code',
        content: content(convert(errorBody, 'output', components)),
      },
    },
  }
}

function content(schema: JsonObject): JsonObject {
  return { 'application/json': { schema } }
}

function pathParameters(route: Route): JsonObject[] {
  return [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters(route: Route, components: JsonObject): JsonObject[] {
  if (!route.query) return []
  const { properties = {}, required = [] } = convert(route.query, 'input', components) as {
    properties?: Record<string, JsonObject>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}

/** JSON Schema of one place, its named parts moved to the components. */
function convert(schema: z.ZodType, io: 'input' | 'output', components: JsonObject): JsonObject {
  const made = z.toJSONSchema(schema, { io, metadata: named })
  const {
    $schema: _,
    $defs = {},
    ...rest
  } = JSON.parse(JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/'))
  for (const [name, definition] of Object.entries($defs)) {
    const text = JSON.stringify(definition)
    if (JSON.stringify(components[name] ?? definition) !== text)
      throw new TypeError(`two schemas are called ${name}`)
    components[name] = definition
  }
  return rest
}
