/** A guest that writes into its relay folder whatever it likes. Beside each thing an honest request is answered. */
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { recordLimit } from '@sallyport/protocol/shim'
import { afterEach, expect, test } from 'vitest'
import { eventually, rpc } from '../mcp/scripted-guest.ts'
import type { LocalFiles } from './local-files.ts'
import type { RelayFiles } from './relay-files.ts'
import {
  call,
  messageOf,
  newId,
  ping,
  shim,
  startWorld,
  type World,
  type WorldOptions,
} from './relay-world.ts'

let world: World
afterEach(() => world.end())

const start = async (options?: WorldOptions): Promise<void> => {
  world = await startWorld(options)
}

/** The reader is there for those who keep to the rules. */
async function stillServes(): Promise<void> {
  expect(await world.answer(world.ask(ping))).toMatchObject({ status: 200 })
}

const at = (name: string): string => join(world.folder, name)

/** The same folder; the names of what is read or removed are noted. */
function noting(local: LocalFiles, touched: string[]): RelayFiles {
  return {
    list: (limit) => local.list(limit),
    read: (name, limit) => {
      touched.push(name)
      return local.read(name, limit)
    },
    publish: (name, bytes) => local.publish(name, bytes),
    remove: (name) => {
      touched.push(name)
      return local.remove(name)
    },
    watch: local.watch?.bind(local),
    close: (how) => local.close(how),
  }
}

/** Puts something else under the name of a request, and gives what is answered to it. */
async function instead(make: (path: string) => void) {
  const id = newId()
  make(at(`${id}.req.json`))
  const answer = await world.answer(id)
  expect(world.calls).toEqual([])
  return answer
}

test('a forged request for a tool that was not granted does nothing', async () => {
  await start()
  const forged = rpc('tools/call', { name: 'files__delete_everything' })
  const approved = { approved: true, approvalId: 'apr_1', token: 'x'.repeat(43) }
  const id = newId()
  world.publish(`${id}.req.json`, JSON.stringify({ ...world.record(forged), ...approved }))
  expect(messageOf(await world.answer(id)).error).toEqual({
    code: -32602,
    message: 'Unknown tool.',
  })
  expect(world.calls).toEqual([])
  await world.answer(world.ask(call))
  expect(world.calls).toHaveLength(1)
})

test('a request of a session that has ended does nothing', async () => {
  await start()
  world.at.set({ state: 'ended' })
  expect(await world.answer(world.ask(call))).toMatchObject({ status: 401 })
  expect(world.calls).toEqual([])
})

test.each([
  ['another path', { path: '/mcp/../api/v1/sessions' }],
  ['a path that climbs', { path: '/mcp/..' }],
  ['no path', { path: '' }],
  ['a bearer', { headers: { authorization: 'Bearer x' } }],
  ['the name of a host', { headers: { host: 'elsewhere' } }],
  ['a length', { headers: { 'content-length': '0' } }],
  ['a header with a line end', { headers: { 'mcp-name': 'x\r\nauthorization: y' } }],
  ['the headers of another shim', { headers: { 'x-sallyport-delivered': shim } }],
  ['another method', { method: 'DELETE' }],
  ['no shim', { shim: '../../x' }],
  ['a call that is no id', { call: '../../x' }],
  ['no time', { at: null }],
  ['a message that is no text', { message: { jsonrpc: '2.0' } }],
])('a record with %s is refused', async (_what, sabotage) => {
  await start()
  const answer = await world.answer(world.ask(call, sabotage as never))
  expect(answer.status).toBe(422)
  expect(messageOf(answer).error).toEqual({
    code: -32600,
    message: 'That is not a request of a shim.',
  })
  expect(world.calls).toEqual([])
  await stillServes()
})

test.each(['', '{', 'null', '[]', '"x"', '\u0000', '{"v":1}'])('%j is no record', async (text) => {
  await start()
  expect(await instead((path) => writeFileSync(path, text))).toMatchObject({ status: 422 })
  await stillServes()
})

test.each([{ v: 2 }, { release: '9.9.9' }])(
  'a record of another release is refused: %j',
  async (more) => {
    await start()
    const answer = await world.answer(world.ask(call, more as never))
    expect(answer.status).toBe(409)
    expect(messageOf(answer).error.message).toContain('sallyport-shim.mjs')
    expect(world.calls).toEqual([])
  },
)

test.each([
  [-61_000, 409],
  [-59_000, 200],
  [59_000, 200],
  [61_000, 409],
])('a record dated %i ms from now is answered with %i', async (ms, status) => {
  await start()
  expect(await world.answer(world.ask(call, { at: world.clock.now + ms }))).toMatchObject({
    status,
  })
  expect(world.calls).toHaveLength(status === 200 ? 1 : 0)
})

test('a link is not followed, wherever it leads', async () => {
  await start()
  const secret = join(world.outside, 'secret')
  const valid = JSON.stringify(world.record(call))
  writeFileSync(secret, valid)
  expect(await instead((path) => symlinkSync(secret, path))).toMatchObject({ status: 422 })
  expect(await instead((path) => symlinkSync('/dev/zero', path))).toMatchObject({ status: 422 })
  expect(await instead((path) => symlinkSync('nothing', path))).toMatchObject({ status: 422 })
  expect(readFileSync(secret, 'utf8')).toBe(valid)
  // The same bytes in a file of the folder are a request.
  const id = newId()
  world.publish(`${id}.req.json`, valid)
  expect(await world.answer(id)).toMatchObject({ status: 200 })
})

test('a second name of a file is not read', async () => {
  await start()
  const secret = join(world.outside, 'secret')
  writeFileSync(secret, JSON.stringify(world.record(call)))
  expect(await instead((path) => linkSync(secret, path))).toMatchObject({ status: 422 })
  expect(existsSync(secret)).toBe(true)
})

test('a pipe does not hold the reader', async () => {
  await start()
  expect(await instead((path) => execFileSync('mkfifo', [path]))).toMatchObject({ status: 422 })
  await stillServes()
})

test('a socket and a device are not read', async () => {
  await start()
  const path = join(world.outside, 'device')
  const isMade = makeDevice(path)
  if (isMade) {
    const answer = await instead((name) => renameSync(path, name))
    expect(answer).toMatchObject({ status: 422 })
  }
  const { createServer } = await import('node:net')
  const server = createServer()
  const socket = join(world.outside, 's')
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  expect(await instead((name) => renameSync(socket, name))).toMatchObject({ status: 422 })
  expect(connect(socket).on('error', () => {})).toBeDefined()
  server.close()
  await stillServes()
})

/** Not everybody may. */
function makeDevice(path: string): boolean {
  try {
    execFileSync('mknod', [path, 'c', '1', '5'], { stdio: 'ignore' })
    return true
  } catch {
    process.stderr.write('not run: no device can be made here\n')
    return false
  }
}

test('a folder under the name of a request is left alone', async () => {
  await start()
  mkdirSync(at(`${newId()}.req.json`))
  mkdirSync(at(`${newId()}.cancel.json`))
  await stillServes()
  await stillServes()
  expect(world.calls).toEqual([])
})

test('a huge file is not read, and one of a terabyte costs nothing', async () => {
  await start()
  const tooLarge = { code: -32600, message: 'The request is larger than the limit.' }
  const answer = await instead((path) => writeFileSync(path, 'x'.repeat(recordLimit + 1)))
  expect(messageOf(answer).error).toEqual(tooLarge)
  const before = process.memoryUsage().rss
  const sparse = await instead((path) => {
    closeSync(openSync(path, 'w'))
    truncateSync(path, 2 ** 40)
  })
  expect(messageOf(sparse).error).toEqual(tooLarge)
  expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 28)
  await stillServes()
})

test('names that are no names of a request are not looked at', async () => {
  await start()
  const valid = JSON.stringify(world.record(call))
  const id = newId()
  const names = [
    '..req.json',
    '....req.json',
    `..${id.slice(2)}.req.json`,
    `${id}.req.json.tmp`,
    `.${id}.tmp`,
    `${id}.REQ.json`,
    `${id.toUpperCase().replace(/\d/g, 'A')}.req.json`,
    `${id}\n.req.json`,
    `x${id}.req.json`,
    'sallyport.req.json',
  ]
  for (const name of names) writeFileSync(at(name), valid)
  await stillServes()
  await stillServes()
  expect(world.calls).toEqual([])
  for (const name of names) expect(existsSync(at(name)), name).toBe(true)
})

test('thousands of files delay nobody, and what is of no request goes after a while', async () => {
  const touched: string[] = []
  await start({ files: (local) => noting(local, touched) })
  const strays = Array.from({ length: 500 }, () => `${newId()}.res.json`)
  for (const name of strays) writeFileSync(at(name), '{}')
  for (let n = 0; n < 5_000; n++) writeFileSync(at(`junk-${n}`), 'x')
  const id = world.ask(ping)
  expect(await world.answer(id)).toMatchObject({ status: 200 })
  // Before it is answered none of the others is read or removed, however many there are.
  expect(new Set(touched)).toEqual(new Set([`${id}.req.json`]))
  world.clock.now += 61_000
  await eventually(() => strays.every((name) => !existsSync(at(name))))
  expect(existsSync(at('junk-4999'))).toBe(true)
})

test('thousands of requests are answered, some at a time, each once', async () => {
  await start()
  const ids = Array.from({ length: 1_000 }, () => world.ask(call))
  for (const id of ids) expect(await world.answer(id)).toHaveProperty('status')
  expect(new Set(world.calls.map(({ callId }) => callId)).size).toBe(world.calls.length)
  expect(world.calls.length).toBeLessThanOrEqual(1_000)
}, 60_000)

test('an answer that was there before is replaced, and nothing is written through it', async () => {
  await start()
  const target = join(world.outside, 'target')
  writeFileSync(target, 'untouched')
  const [linked, placed] = [newId(), newId()]
  symlinkSync(target, at(`${linked}.res.json`))
  writeFileSync(at(`${placed}.res.json`), '{"v":1,"status":200,"headers":{},"messages":["forged"]}')
  for (const id of [linked, placed])
    world.publish(`${id}.req.json`, JSON.stringify(world.record(ping)))
  await eventually(() => !world.has(`${linked}.req.json`) && !world.has(`${placed}.req.json`))
  await eventually(() =>
    [linked, placed].every((id) => readFileSync(at(`${id}.res.json`), 'utf8').includes('result')),
  )
  expect(readFileSync(target, 'utf8')).toBe('untouched')
})

test('a request that is laid again under its name is not asked again', async () => {
  await start()
  const id = newId()
  const text = JSON.stringify(world.record(call))
  world.publish(`${id}.req.json`, text)
  await world.answer(id)
  world.publish(`${id}.req.json`, text)
  await stillServes()
  await stillServes()
  expect(world.calls).toHaveLength(1)
})

test('the file that says who is there comes back, and what a guest writes in its place is for itself alone', async () => {
  await start()
  world.remove('sallyport.json')
  await eventually(() => existsSync(at('sallyport.json')))
  writeFileSync(at('sallyport.json'), '{"v":1,"gateway":"mine","release":"9"}')
  await stillServes()
})

test('another folder under its name is not served, and nothing is written there', async () => {
  await start()
  const moved = join(world.outside, 'moved')
  const id = newId()
  const valid = JSON.stringify(world.record(call))
  renameSync(world.folder, moved)
  mkdirSync(world.folder)
  writeFileSync(at(`${id}.req.json`), valid)
  await eventually(() => world.gone.length > 0)
  expect(world.calls).toEqual([])
  expect(world.names()).toEqual([`${id}.req.json`])
  expect(existsSync(join(moved, `${id}.res.json`))).toBe(false)
})

test('a link to another folder under its name is not served either', async () => {
  await start()
  const other = join(world.outside, 'other')
  mkdirSync(other)
  writeFileSync(join(other, `${newId()}.req.json`), JSON.stringify(world.record(call)))
  renameSync(world.folder, join(world.outside, 'moved'))
  symlinkSync(other, world.folder)
  await eventually(() => world.gone.length > 0)
  expect(world.calls).toEqual([])
})

/** A folder whose files do not do what they are asked for. */
const faulty = (faults: Partial<RelayFiles>) => (local: LocalFiles) =>
  ({
    list: (limit) => local.list(limit),
    read: (name, limit) => local.read(name, limit),
    publish: (name, bytes) => local.publish(name, bytes),
    remove: (name) => local.remove(name),
    close: () => local.close(),
    ...faults,
  }) satisfies RelayFiles

test('what cannot be removed is not asked', async () => {
  let looks = 0
  const files = (local: LocalFiles) =>
    faulty({
      remove: async () => false,
      list: (limit) => {
        looks++
        return local.list(limit)
      },
    })(local)
  await start({ files })
  const id = world.ask(call)
  const before = looks
  await eventually(() => looks > before + 2)
  expect(world.calls).toEqual([])
  expect(world.has(`${id}.req.json`)).toBe(true)
})

test.each(['read', 'remove'] as const)(
  'to %s a file never ends: it holds nothing up, and its request is not asked',
  async (operation) => {
    const hung: string[] = []
    const files = (local: LocalFiles) =>
      faulty({
        [operation]: (name: string, limit: number) => {
          if (hung.length > 0) return local[operation](name, limit)
          hung.push(name)
          return new Promise(() => {})
        },
      })(local)
    await start({ files, relay: { fileMs: 50 } })
    world.ask(call)
    await eventually(() => world.reports.length > 0)
    await stillServes()
    expect(world.calls).toEqual([])
  },
)

test('a listing that fails is tried again', async () => {
  let failures = 2
  const files = (local: LocalFiles) =>
    faulty({
      list: async (limit) => {
        if (failures-- > 0) throw new Error('the provider is busy')
        return local.list(limit)
      },
    })(local)
  await start({ files })
  await stillServes()
  expect(world.reports).toHaveLength(2)
})

test('an answer that cannot be written at all is lost', async () => {
  let isFull = false
  const files = (local: LocalFiles) =>
    faulty({
      publish: async (name, bytes) => {
        if (isFull) throw new Error('no space')
        return local.publish(name, bytes)
      },
    })(local)
  await start({ files })
  isFull = true
  world.ask(call, { call: shim })
  await eventually(() => world.log.length > 0)
  expect(world.log).toEqual([`${shim} lost`])
})
