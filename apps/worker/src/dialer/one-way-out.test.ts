/** Whatever leaves the worker leaves by the dialer: no other part of it can open a connection or ask for a name. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const doors = /^node:(?:net|tls|dns(?:\/promises)?|dgram|https?|http2|inspector(?:\/promises)?)$/
/** Beside the dialer: the listener takes connections in. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'link/listener.ts': ['node:net', 'node:tls'],
}

/** Values a source takes from modules that reach out, and globals that do. */
function waysOut(file: string, source: string): string[] {
  const imports = [
    ...source.matchAll(/^import\s+(?!type\b)([^'"]*?)\bfrom\s+['"]([^'"]+)['"]/gm),
  ].filter(([, names = '']) => !/^\{(?:\s*type\s+[^,}]+,?)+\s*\}\s*$/.test(names))
  const dynamic = [...source.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)].map(([, name]) => name)
  const modules = [...imports.map(([, , name]) => name), ...dynamic]
  const globals = source.match(/(?<![.\w#])(?:fetch|WebSocket|EventSource|XMLHttpRequest)\(/g) ?? []
  return [...modules, ...globals].filter(
    (name): name is string =>
      name !== undefined &&
      (doors.test(name) || name.endsWith('(')) &&
      !(allowed[file] ?? []).includes(name),
  )
}

const sources = globSync('**/*.ts', { cwd: root }).filter(
  (file) => !/\.test\.ts$|^testing\/|^dialer\//.test(file),
)

test('nothing beside the dialer reaches out', () => {
  expect(sources.length).toBeGreaterThan(30)
  const found = sources.flatMap((file) =>
    waysOut(file, readFileSync(join(root, file), 'utf8')).map((way) => `${file}: ${way}`),
  )
  expect(found).toEqual([])
})

test.each([
  `import { connect } from 'node:tls'`,
  `import { type Socket, connect } from 'node:net'`,
  `import { lookup } from 'node:dns/promises'`,
  `import dgram from 'node:dgram'`,
  `import * as https from 'node:https'`,
  `const http = await import('node:http')`,
  `await fetch('https://mcp.dev')`,
  `new WebSocket(url)`,
])('sees that a source reaches out by %s', (source) => {
  expect(waysOut('upstream/x.ts', source)).toHaveLength(1)
})

test('does not take types and methods for ways out', () => {
  const source = `import type { Socket } from 'node:net'\nimport { type Socket } from 'node:net'\nthis.fetch(x)`
  expect(waysOut('upstream/x.ts', source)).toEqual([])
})
