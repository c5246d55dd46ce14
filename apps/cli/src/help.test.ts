import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, expect, test } from 'vitest'
import { buildProgram } from './command-line.ts'
import { noSignals, runWords } from './testing/run-words.ts'
import { connection } from './testing/sample-answers.ts'
import { ScriptedApi } from './testing/scripted-api.ts'

const folder = mkdtempSync(join(tmpdir(), 'sallyport-help-'))
afterAll(() => rmSync(folder, { recursive: true }))

const program = buildProgram([], {
  env: {},
  stdin: process.stdin,
  stdout: { write: () => true },
  stderr: { write: () => true },
  now: Date.now,
  random: (size) => new Uint8Array(size),
  signals: noSignals,
  delay: async () => undefined,
})

function* pathsBelow(command: Command, path: readonly string[]): Generator<readonly string[]> {
  yield path
  for (const child of command.commands) yield* pathsBelow(child, [...path, child.name()])
}
const paths = [...pathsBelow(program, [])]

async function helpOf(path: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runWords([...path, '--help'], { env: {} })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

test('the help of every command is as it was reviewed', async () => {
  const texts: string[] = []
  for (const path of paths)
    texts.push(`$ ${['sallyport', ...path, '--help'].join(' ')}\n${await helpOf(path)}`)
  await expect(texts.join('\n')).toMatchFileSnapshot('help.golden.txt')
})

test('a command without its subcommand shows help and is a usage error', async () => {
  const { code, stdout, stderr } = await runWords(['catalog'], { env: {} })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('Usage: sallyport catalog')
})

test('every example works as it stands', async () => {
  // They go on until they are ended, or make a sandbox, which not every machine can; they have tests of their own.
  const tested = ['up', 'approvals watch', 'run', 'sandbox verify']
  const leaves = paths.filter(
    (path) => commandAt(path).commands.length === 0 && !tested.includes(path.join(' ')),
  )
  const api = await new ScriptedApi().listen()
  api.answer('connection.show', { ...connection, headerNames: [] })
  const running = { url: api.url, guestUrl: api.url, pid: process.pid }
  writeFileSync(join(folder, 'endpoint.json'), JSON.stringify(running))
  const env = { SALLYPORT_TOKEN: 't', SALLYPORT_DATA: folder }
  const before = process.cwd()
  process.chdir(folder)
  try {
    for (const name of ['token.txt', 'new.txt']) writeFileSync(name, 'secret\n')
    for (const path of leaves) {
      const [, example = ''] = /^Example:\n {2}\$ (.*)$/m.exec(await helpOf(path)) ?? []
      expect(example, path.join(' ')).toMatch(new RegExp(`^sallyport ${path.join(' ')}`))
      const { code, stderr } = await runWords(wordsOf(example), { env })
      expect({ example, code, stderr }).toEqual({ example, code: 0, stderr: '' })
    }
  } finally {
    process.chdir(before)
    await api.close()
  }
})

/** As a shell splits them, without the first. */
function wordsOf(line: string): string[] {
  const script = `set -- ${line}; shift; printf '%s\\n' "$@"`
  return execFileSync('sh', ['-c', script]).toString().trimEnd().split('\n')
}

function commandAt(path: readonly string[]): Command {
  return path.reduce<Command>(
    (command, name) => command.commands.find((one) => one.name() === name) ?? command,
    program,
  )
}
