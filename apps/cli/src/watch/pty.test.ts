/** The view on a real terminal, under the Node of the machine and the pinned one: what a fake one cannot show. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { Pty } from '../testing/pty.ts'
import { ScriptedApi } from '../testing/scripted-api.ts'
import { until } from '../testing/until.ts'

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'sallyport.js')
const { PATH = '' } = process.env
const machineNode = PATH.split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find((path) => existsSync(path))
const nodes = [
  ['the pinned Node', process.execPath],
  ['the Node of the machine', machineNode],
] as const

/** Of util-linux; that of BSD takes other options. */
function hasScript(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux')
  } catch {
    return false
  }
}

const isThere = hasScript()
const unlessAbsent = isThere ? '' : ' (the script of util-linux is not installed)'

let api: ScriptedApi
let pty: Pty | undefined
const folders: string[] = []
beforeEach(async () => {
  api = await new ScriptedApi().listen()
})
afterEach(async () => {
  await pty?.kill()
  await api.close()
})
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

/** Starts `lines` of a shell in a folder of its own, where WATCH is the command, and waits for the view. */
async function start(node: string, lines: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-watch-'))
  folders.push(folder)
  // The shell becomes the launcher, so that its process is known.
  const command = `bash -c 'echo $$ > pid; exec ${node} ${launcher} approvals watch'`
  const started = new Pty(
    lines.map((line) => line.replace('WATCH', () => command)),
    folder,
    { SALLYPORT_URL: api.url, SALLYPORT_TOKEN: 't', XDG_CACHE_HOME: join(folder, 'cache') },
  )
  pty = started
  const told = () => started.screen.written
  await until(() => started.screen.text.includes('create_page'), told)
  const read = (name: string): string => {
    const path = join(folder, name)
    return existsSync(path) ? readFileSync(path, 'utf8').trim() : ''
  }
  return {
    pty: started,
    read,
    shows: (text: string) => until(() => started.screen.text.includes(text), told),
  }
}

const around = ['stty -g > before', 'WATCH', 'echo $? > code', 'stty -g > after']

for (const [name, node = ''] of nodes) {
  const when = test.skipIf(!node || !isThere)

  when(
    `under ${name} it decides, and q gives the terminal back as it was${unlessAbsent}`,
    async () => {
      const { pty, read, shows } = await start(node, around)
      pty.type('a')
      await shows('"title": "Größe"')
      pty.type('fine\r')
      await shows('Approved: the call may be sent, once.')
      expect(api.only('approval.approve').body).toEqual({ note: 'fine' })
      pty.type('q')
      await pty.end()
      expect(read('code')).toBe('0')
      expect(read('after')).toBe(read('before'))
      expect([...pty.screen.modes].sort()).toEqual([25, 7])
    },
  )

  when(
    `under ${name} a signal gives the terminal back and ends the command${unlessAbsent}`,
    async () => {
      const { pty, read } = await start(node, around)
      process.kill(Number(read('pid')), 'SIGTERM')
      await pty.end()
      expect(read('code')).toBe('143')
      expect(read('after')).toBe(read('before'))
      expect([...pty.screen.modes].sort()).toEqual([25, 7])
    },
  )

  when(
    `under ${name} Control-Z gives the terminal back, and fg goes on${unlessAbsent}`,
    async () => {
      const stopped = 'echo $? > code; stty -g > during; fg; stty -g > after'
      const { pty, read, shows } = await start(node, [
        'set -m',
        'stty -g > before',
        'WATCH',
        stopped,
      ])
      pty.type('\x1a')
      await until(() => read('during') !== '')
      // 128 and the number of SIGTSTP.
      expect(read('code')).toBe('148')
      expect(read('during')).toBe(read('before'))
      await until(() => pty.screen.modes.has(1049))
      pty.type('\r')
      await shows('"title": "Größe"')
      pty.type('q')
      await pty.end()
      expect(read('after')).toBe(read('before'))
      expect([...pty.screen.modes].sort()).toEqual([25, 7])
    },
  )
}

test.skipIf(!isThere)(
  `where nobody could continue it, Control-Z does not stop it${unlessAbsent}`,
  async () => {
    const { pty, read, shows } = await start(process.execPath, around)
    pty.type('\x1a\r')
    await shows('"title": "Größe"')
    pty.type('q')
    await pty.end()
    expect(read('code')).toBe('0')
  },
)
