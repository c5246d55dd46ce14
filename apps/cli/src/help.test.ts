import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { buildProgram } from './command-line.ts'
import { runWords } from './testing/run-words.ts'
import { connection } from './testing/sample-answers.ts'
import { ScriptedApi } from './testing/scripted-api.ts'

const { PATH = '' } = process.env
const program = buildProgram([], {
  env: {},
  stdin: process.stdin,
  stdout: { write: () => true },
  stderr: { write: () => true },
  now: Date.now,
  random: (size) => new Uint8Array(size),
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

test('every example works as it stands', { timeout: 60_000 }, async () => {
  const leaves = paths.filter((path) => commandAt(path).commands.length === 0 && path[0] !== 'up')
  const api = await new ScriptedApi().listen()
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-help-'))
  const main = join(import.meta.dirname, 'main.ts')
  writeFileSync(
    join(folder, 'sallyport'),
    `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`,
    {
      mode: 0o755,
    },
  )
  for (const name of ['token.txt', 'new.txt']) writeFileSync(join(folder, name), 'secret\n')
  api.answer('connection.show', { ...connection, headerNames: [] })
  try {
    for (const path of leaves) {
      const [, example = ''] = /^Example:\n {2}\$ (.*)$/m.exec(await helpOf(path)) ?? []
      expect(example, path.join(' ')).toMatch(new RegExp(`^sallyport ${path.join(' ')}`))
      const child = spawn('sh', ['-c', example], {
        cwd: folder,
        env: {
          PATH: `${folder}:${PATH}`,
          NODE_COMPILE_CACHE: join(folder, 'cache'),
          HOME: folder,
          SALLYPORT_URL: api.url,
          SALLYPORT_TOKEN: 't',
        },
        stdio: 'ignore',
      })
      const [code] = await once(child, 'close')
      expect([example, code]).toEqual([example, 0])
    }
  } finally {
    await api.close()
    rmSync(folder, { recursive: true })
  }
})

function commandAt(path: readonly string[]): Command {
  return path.reduce<Command>(
    (command, name) => command.commands.find((one) => one.name() === name) ?? command,
    program,
  )
}
