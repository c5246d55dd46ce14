/**
 * Who may know whom, and why. The walls between processes are package walls: what a package cannot import, it cannot
 * leak. Both the manifests and the import specifiers of every source file are read.
 */
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'

interface Rule {
  /** Of ours. */
  readonly may: readonly string[]
  readonly why: string
}

const ours: Record<string, Rule> = {
  'packages/protocol': {
    may: [],
    why: 'the words every process shares; whoever knows it knows nothing else',
  },
  'packages/core': {
    may: ['protocol'],
    why: 'decisions are pure: they see rows and ports, no database and no socket',
  },
  'packages/store': { may: ['core', 'protocol'], why: 'keeps the rows of core; decides nothing' },
  'packages/launcher': {
    may: ['protocol'],
    why: 'makes sandboxes and starts what runs in them: no policy, no database, no upstream',
  },
  'apps/gateway': {
    may: ['core', 'store', 'protocol'],
    why: 'decides and journals; holds ciphertext it cannot open',
  },
  'apps/worker': {
    may: ['protocol'],
    why: 'opens credentials: so it has no database, no policy, no durable record',
  },
  'apps/shim': {
    may: ['protocol'],
    why: 'runs inside a sandbox: carries messages, and knows nothing that a guest may not know',
  },
  'apps/cli': {
    may: ['launcher', 'protocol'],
    why: 'a client of the API; what it may do is decided on the other side',
  },
}

/** Modules that only one package may know. */
const reserved: { readonly module: RegExp; readonly only: string; readonly why: string }[] = [
  {
    module: /^(?:node:sqlite|pg)(?:\/|$)/,
    only: 'packages/store',
    why: 'one contract stands before every database',
  },
  { module: /^undici(?:\/|$)/, only: 'apps/worker', why: 'only the worker reaches an upstream' },
  {
    module: /^@modelcontextprotocol\/client(?:\/|$)/,
    only: 'apps/worker',
    why: 'only the worker is a client of servers',
  },
  {
    module: /^koffi(?:\/|$)/,
    only: 'packages/protocol',
    why: 'native code is called in one place, for one question',
  },
  {
    module: /^commander(?:\/|$)/,
    only: 'apps/cli',
    why: 'only the command line has a command line',
  },
]

/** What of Node the inner packages may use: nothing that reaches a file, a socket or another process. */
const nodeAllowed: Record<string, RegExp> = { 'packages/core': /^node:crypto$/ }

/** `@sallyport/core` and the short names in the table. */
const packageOf = (specifier: string) => /^@sallyport\/([a-z]+)(?:\/|$)/.exec(specifier)?.[1]

function findViolations(root: string): string[] {
  return globSync(['packages/*', 'apps/*'], { cwd: root }).flatMap((folder) => {
    const rule = ours[folder]
    if (!rule) return [`${folder}: not in the table of who may know whom`]
    return [...manifestViolations(root, folder, rule), ...sourceViolations(root, folder, rule)]
  })
}

function manifestViolations(root: string, folder: string, rule: Rule): string[] {
  const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  return Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    .map((name) => problemOf(name, folder, rule))
    .filter((problem) => problem !== undefined)
    .map((problem) => `${folder}/package.json: ${problem}`)
}

function sourceViolations(root: string, folder: string, rule: Rule): string[] {
  return sourcesOf(root, folder).flatMap((file) => {
    const specifiers = importsOf(readFileSync(join(root, file), 'utf8'))
    return specifiers
      .map((specifier) =>
        specifier.startsWith('.')
          ? escapeOf(root, folder, file, specifier)
          : problemOf(specifier, folder, rule),
      )
      .filter((problem) => problem !== undefined)
      .map((problem) => `${file}: ${problem}`)
  })
}

/** Tests stand outside the walls: they may start an upstream or read a database. */
function sourcesOf(root: string, folder: string): string[] {
  return globSync(`${folder}/{src,bin}/**/*.{ts,js}`, { cwd: root }).filter(
    (file) => !file.endsWith('.test.ts'),
  )
}

function importsOf(source: string): string[] {
  const forms = [
    /^\s*(?:import|export)\b[^'"]*?\bfrom\s*['"]([^'"]+)['"]/gm,
    /^\s*import\s*['"]([^'"]+)['"]/gm,
    /\bimport\(\s*['"]([^'"]+)['"]/g,
    /\brequire\(\s*['"]([^'"]+)['"]/g,
  ]
  return forms.flatMap((form) => [...source.matchAll(form)].map((match) => match[1] as string))
}

function problemOf(specifier: string, folder: string, rule: Rule): string | undefined {
  const target = packageOf(specifier)
  if (target === 'gateway' || target === 'worker' || specifier === 'sallyport')
    return `imports ${specifier}, an app: apps meet in protocol messages`
  if (target && `packages/${target}` !== folder && !rule.may.includes(target))
    return `imports ${specifier}: ${rule.why}`
  const owner = reserved.find(({ module }) => module.test(specifier))
  if (owner && owner.only !== folder) return `imports ${specifier}: ${owner.why}`
  const allowed = nodeAllowed[folder]
  if (allowed && specifier.startsWith('node:') && !allowed.test(specifier))
    return `imports ${specifier}: ${rule.why}`
  return undefined
}

function escapeOf(
  root: string,
  folder: string,
  file: string,
  specifier: string,
): string | undefined {
  const target = relative(join(root, folder), resolve(root, dirname(file), specifier))
  return target.startsWith('..') ? `imports ${specifier}, which is outside its package` : undefined
}

const repository = fileURLToPath(new URL('..', import.meta.url))

test('nobody imports whom it may not know', () => {
  expect(findViolations(repository)).toEqual([])
})

test('sees sources and imports in every package of the table', () => {
  for (const folder of Object.keys(ours)) {
    const imports = sourcesOf(repository, folder).flatMap((file) =>
      importsOf(readFileSync(join(repository, file), 'utf8')),
    )
    expect(imports.length, folder).toBeGreaterThan(5)
  }
})

test('what the browser may run of protocol imports nothing of Node', () => {
  const source = join(repository, 'packages/protocol/src')
  const seen = new Set<string>()
  const follow = (file: string): string[] => {
    if (seen.has(file)) return []
    seen.add(file)
    const imports = importsOf(readFileSync(file, 'utf8'))
    const inner = imports
      .filter((one) => one.startsWith('.'))
      .map((one) => resolve(dirname(file), one))
    return [...imports.filter((one) => one.startsWith('node:')), ...inner.flatMap(follow)]
  }
  expect(follow(join(source, 'index.ts'))).toEqual([])
  expect(seen.size).toBeGreaterThan(5)
})

const made: string[] = []
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true })
})

/** A repository with one package in it. */
function sabotaged(
  folder: string,
  source: string,
  dependencies: Record<string, string> = {},
): string {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-architecture-'))
  made.push(root)
  mkdirSync(join(root, folder, 'src'), { recursive: true })
  writeFileSync(join(root, folder, 'package.json'), JSON.stringify({ dependencies }))
  writeFileSync(join(root, folder, 'src/sabotage.ts'), source)
  return root
}

test.each([
  ['apps/worker', `import { openStore } from '@sallyport/store'`],
  ['apps/worker', `export * from '@sallyport/core'`],
  ['apps/worker', `const core = await import('@sallyport/core')`],
  ['apps/cli', `import { main } from '@sallyport/gateway'`],
  ['apps/gateway', `import { open } from '../../worker/src/vault.ts'`],
  ['apps/gateway', `import type {\n  DatabaseSync,\n} from 'node:sqlite'`],
  ['apps/gateway', `import { request } from 'undici'`],
  ['apps/cli', `import pg from 'pg'`],
  ['packages/protocol', `import { grant } from '@sallyport/core'`],
  ['packages/core', `import { readFile } from 'node:fs/promises'`],
  ['packages/core', `import '@sallyport/store'`],
  ['packages/store', `const client = require('undici')`],
  ['packages/launcher', `import { mayStart } from '@sallyport/core'`],
  ['apps/worker', `import { bubblewrap } from '@sallyport/launcher'`],
  ['apps/somebody', `export {}`],
])('finds %s with: %s', (folder, source) => {
  expect(findViolations(sabotaged(folder, source))).toHaveLength(1)
})

test('finds a dependency in a manifest that no source imports', () => {
  const root = sabotaged('apps/worker', 'export {}', { '@sallyport/store': '0.1.0' })
  expect(findViolations(root)).toEqual([
    'apps/worker/package.json: imports @sallyport/store: opens credentials: so it has no database, no policy, no durable record',
  ])
})

test('finds nothing in a package that keeps to its place', () => {
  const source = `import { z } from 'zod'\nimport { errors } from '@sallyport/protocol'\nimport './own.ts'`
  expect(findViolations(sabotaged('apps/worker', source, { undici: '8.13.1' }))).toEqual([])
})

test('the table names only packages that exist', () => {
  for (const folder of Object.keys(ours))
    expect(existsSync(join(repository, folder)), folder).toBe(true)
})
