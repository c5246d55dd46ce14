/** The shim as the one who writes into a relay folder: before a gateway that is a script, and before a real reader. */
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { release } from '@sallyport/protocol'
import { recordVersion } from '@sallyport/protocol/shim'
import { afterEach, describe, expect, test } from 'vitest'
import { result } from '../../apps/gateway/src/mcp/scripted-core.ts'
import { eventually } from '../../apps/gateway/src/mcp/scripted-guest.ts'
import { startWorld } from '../../apps/gateway/src/relay/relay-world.ts'
import { Shim } from '../shim/start-shim.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** The shim goes by the clock of this machine. */
const today = {
  now: Date.now,
  self: () => ({ v: recordVersion, release, gateway: 'g1', at: Date.now(), waitMs: 60_000 }),
}

function shimAt(folder: string): Shim {
  const shim = new Shim({ args: ['--relay', folder] })
  ends.push(() => shim.kill())
  return shim
}

/** What a gateway does with the folder, done by hand. */
class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'sallyport-writer-'))

  /** The shim waits `waitMs`, and ten seconds more. */
  constructor(waitMs = 60_000, gateway = 'g1') {
    this.self(waitMs, gateway)
    ends.push(() => rmSync(this.path, { recursive: true }))
  }

  self(waitMs: number, gateway: string): void {
    this.publish('sallyport.json', { release, gateway, at: Date.now(), waitMs })
  }

  names(): string[] {
    return readdirSync(this.path).filter((name) => name !== 'sallyport.json')
  }

  publish(name: string, record: object): void {
    writeFileSync(join(this.path, '.written'), JSON.stringify({ v: recordVersion, ...record }))
    renameSync(join(this.path, '.written'), join(this.path, name))
  }

  /** The id of the one request that is there beside another. */
  async asked(other = ''): Promise<string> {
    const ids = () =>
      this.names().flatMap((name) => /^([0-9a-f]{32})\.req\.json$/.exec(name)?.[1] ?? [])
    await eventually(() => ids().some((id) => id !== other))
    return String(ids().find((id) => id !== other))
  }

  /** A notification is read, and answered as one. */
  async hearNote(other?: string): Promise<void> {
    const id = await this.asked(other)
    this.take(id)
    this.publish(`${id}.res.json`, { status: 202, headers: {}, messages: [] })
  }

  record(id: string): Record<string, unknown> {
    return JSON.parse(readFileSync(join(this.path, `${id}.req.json`), 'utf8'))
  }

  /** Picked up, and said so. */
  take(id: string): void {
    rmSync(join(this.path, `${id}.req.json`))
    this.publish(`${id}.0.part.json`, { status: 0, headers: {}, messages: [] })
  }

  answer(id: string, rpcId: unknown, answered: object = {}): void {
    const message = JSON.stringify({ jsonrpc: '2.0', id: rpcId, result: answered })
    this.publish(`${id}.res.json`, { status: 200, headers: {}, messages: [message] })
  }
}

describe('before a gateway that is a script', () => {
  test('what it wrote and what it got is gone, after an answer and after a cancel', async () => {
    const folder = new Folder()
    const shim = shimAt(folder.path)
    const answer = shim.ask('tools/call', { name: 'a' }, 1)
    const id = await folder.asked()
    folder.take(id)
    folder.answer(id, 1, { content: [] })
    expect((await answer).result).toEqual({ content: [] })
    await eventually(() => folder.names().length === 0)
    shim.write('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}\n')
    const unread = await folder.asked()
    shim.tell('notifications/cancelled', { requestId: 2 })
    await folder.hearNote(unread)
    await eventually(() => folder.names().length === 0)
  })

  test('the cancel of a request that was read is told, by a file', async () => {
    const folder = new Folder()
    const shim = shimAt(folder.path)
    shim.write('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}\n')
    const id = await folder.asked()
    folder.take(id)
    await eventually(() => folder.names().length === 0)
    shim.tell('notifications/cancelled', { requestId: 2 })
    await folder.hearNote()
    await eventually(() => folder.names().includes(`${id}.cancel.json`))
  })

  test('an answer that comes at once is told by the watch, and does not wait for the next look', async () => {
    const folder = new Folder()
    const shim = shimAt(folder.path)
    await shim.until(() => true)
    const asked = new Set<string>()
    const watcher = watch(folder.path, (_event, name) => {
      const id = String(name).slice(0, 32)
      if (!name?.endsWith('.req.json') || asked.has(id)) return
      asked.add(id)
      folder.answer(id, asked.size)
    })
    ends.push(() => watcher.close())
    const took: number[] = []
    for (let id = 1; id <= 15; id++) {
      const began = performance.now()
      await shim.ask('ping', {}, id)
      took.push(performance.now() - began)
    }
    // It looks each second by itself.
    expect(took.toSorted((a, b) => a - b)[7]).toBeLessThan(400)
  })

  test('at the end of its time it looks once more, and takes what is there by then', async () => {
    const limitMs = 300
    const wait = async (isAnswered: boolean): Promise<string> => {
      const folder = new Folder(limitMs - 10_000)
      const shim = shimAt(folder.path)
      const answer = shim.ask('tools/call', { name: 'a' }, 1)
      const id = await folder.asked()
      folder.take(id)
      await eventually(() => folder.names().length === 0)
      // Stopped, it hears of no change before its time is over.
      process.kill(shim.pid, 'SIGSTOP')
      const over = performance.now() + 2 * limitMs
      await eventually(() => performance.now() > over)
      if (isAnswered) folder.answer(id, 1, { content: [] })
      process.kill(shim.pid, 'SIGCONT')
      return Promise.race([answer.then(() => 'answered'), folder.asked().then(() => 'asked again')])
    }
    expect(await wait(true)).toBe('answered')
    expect(await wait(false)).toBe('asked again')
  })

  test('a call that was read by a gateway that is gone is asked of the next under the same id', async () => {
    const folder = new Folder()
    const shim = shimAt(folder.path)
    const answer = shim.ask('tools/call', { name: 'a' }, 1)
    const first = await folder.asked()
    const { call } = folder.record(first)
    folder.take(first)
    await eventually(() => folder.names().length === 0)
    folder.self(60_000, 'g2')
    const second = await folder.asked()
    expect(folder.record(second)).toMatchObject({ call })
    folder.take(second)
    folder.answer(second, 1, { content: [] })
    expect((await answer).result).toEqual({ content: [] })
  })

  test('while nobody answers in the folder it does not start; a request before is not written', async () => {
    const folder = new Folder()
    rmSync(join(folder.path, 'sallyport.json'))
    const shim = shimAt(folder.path)
    shim.tell('ping')
    expect(await shim.exited()).toBe(1)
    expect(folder.names()).toEqual([])
  })
})

test('nobody ever sees half a file, of a request or of an answer', async () => {
  const text = 'x'.repeat(300_000)
  const answer = () => ({
    ...result({ content: [{ type: 'text', text }] }),
    delivery: { collected: () => undefined, lost: () => undefined },
  })
  const world = await startWorld({ script: { answer: answer as never }, relay: today })
  ends.push(() => world.end())
  const shim = shimAt(world.folder)
  const seen = new Set<string>()
  let isOver = false
  const looking = (async () => {
    while (!isOver) {
      for (const name of world.names().filter((one) => one.endsWith('.json'))) {
        const read = attempt(() => readFileSync(join(world.folder, name), 'utf8'))
        if (read === undefined) continue
        expect(() => JSON.parse(read), name).not.toThrow()
        seen.add(name.replace(/^[0-9a-f]{32}/, 'id'))
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
  })()
  const call = { name: 'files__write', arguments: { text } }
  for (let n = 0; n < 4; n++) {
    const { content } = (await shim.ask('tools/call', call)).result
    expect(content[0].text).toHaveLength(text.length)
  }
  isOver = true
  await looking
  expect(seen).toContain('id.req.json')
  expect(seen).toContain('id.res.json')
}, 60_000)

test('a tool that nobody knows leaves no trace in the folder', async () => {
  const world = await startWorld({ relay: today })
  ends.push(() => world.end())
  const shim = shimAt(world.folder)
  const { error } = await shim.ask('tools/call', { name: 'files__nothing', arguments: {} })
  expect(error.code).toBe(-32_602)
  await eventually(() => world.names().length === 0)
  expect(world.calls).toEqual([])
})

/** Undefined when it has gone between two looks. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
