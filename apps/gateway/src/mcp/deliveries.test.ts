/** What a core hears of answers that somebody may have to come for again, in both eras and both forms of an answer. */
import type { Socket } from 'node:net'
import { type CallOutcome, type CallRequest, resetWithinMs } from '@sallyport/core'
import { afterEach, expect, test } from 'vitest'
import { result, type Script, type ScriptedEndpoint, startScripted } from './scripted-core.ts'
import { bareRequest, bareSocket, bearerHead, eventually, rpc } from './scripted-guest.ts'

let at: ScriptedEndpoint
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await at.close()
})

const forms = (['legacy', 'modern'] as const).flatMap((era) => [
  [era, 'a body'] as const,
  [era, 'events'] as const,
])
type Form = (typeof forms)[number]

const small = { content: [{ type: 'text', text: 'done' }] }
const large = { content: [{ type: 'text', text: 'x'.repeat(16 * 1024 * 1024) }] }

/** Answers tell `log` what becomes of them, with the number of the call where there are more. */
async function start([, form]: Form, value: object = small, script: Script = {}) {
  const log: string[] = []
  const release: (() => void)[] = []
  at = await startScripted({
    ...script,
    answer: async (call) => {
      if (form === 'events') call.held?.()
      const at = `${call.callId.slice(5)} `
      await new Promise<void>((resolve) => release.push(resolve))
      return delivered(value, (what) => log.push(at + what))
    },
  })
  return { log, release }
}

function delivered(value: object, tell: (what: string) => void): CallOutcome {
  const delivery = { collected: () => tell('collected'), lost: () => tell('lost') }
  return { ...result(value), delivery } as CallOutcome
}

async function ask([era]: Form, ids: readonly number[] = [1], extra: readonly string[] = []) {
  const socket = await bareSocket(at)
  sockets.push(socket)
  socket.write(ids.map((id) => bareRequest(at, era, id, extra)).join(''))
  await eventually(() => at.calls.length === ids.length)
  return socket
}

const closed = () => eventually(() => at.connections() === 0)

test.each(forms)(
  '(%s) %s that was read is collected, and an end in order leaves it so',
  async (...form) => {
    const { log, release } = await start(form)
    const socket = await ask(form)
    expect(log).toEqual([])
    release[0]?.()
    await eventually(() => log.length > 0 && socket.got.includes('done'))
    socket.end()
    await closed()
    expect(log).toEqual(['1 collected'])
  },
)

test.each(forms)(
  '(%s) %s is lost when the connection is reset within a minute',
  async (...form) => {
    const { log, release } = await start(form)
    const socket = await ask(form)
    release[0]?.()
    await eventually(() => log.length > 0)
    at.clock.now += resetWithinMs
    socket.resetAndDestroy()
    await closed()
    expect(log).toEqual(['1 collected', '1 lost'])
  },
)

test.each(forms)('(%s) %s is not lost when the connection is reset later', async (...form) => {
  const { log, release } = await start(form)
  const socket = await ask(form)
  release[0]?.()
  await eventually(() => log.length > 0)
  at.clock.now += resetWithinMs + 1
  socket.resetAndDestroy()
  await closed()
  expect(log).toEqual(['1 collected'])
})

test.each(forms)(
  '(%s) %s has arrived when the guest asks on, whatever comes then',
  async (...form) => {
    const { log, release } = await start(form)
    const socket = await ask(form)
    release[0]?.()
    await eventually(() => log.length > 0)
    socket.write(bareRequest(at, form[0], 2))
    await eventually(() => at.calls.length === 2)
    socket.resetAndDestroy()
    await closed()
    release[1]?.()
    await eventually(() => log.length > 1)
    expect(log).toEqual(['1 collected', '2 lost'])
  },
)

test.each(forms)(
  '(%s) %s is lost, and never collected, when the guest has left',
  async (...form) => {
    const { log, release } = await start(form)
    const socket = await ask(form)
    socket.destroy()
    await closed()
    release[0]?.()
    await eventually(() => log.length > 0)
    expect(log).toEqual(['1 lost'])
  },
)

test.each(forms)('(%s) %s is lost when the connection is reset half-way', async (...form) => {
  const { log, release } = await start(form, large)
  const socket = await ask(form)
  socket.pause()
  release[0]?.()
  await eventually(() => socket.readableLength > 0)
  expect(log).toEqual([])
  socket.resetAndDestroy()
  await closed()
  expect(log).toEqual(['1 lost'])
})

test.each(forms)('(%s) %s is lost when the guest stops reading', async (...form) => {
  const { log, release } = await start(form, large, { options: { timing: { stallMs: 50 } } })
  const socket = await ask(form)
  socket.pause()
  release[0]?.()
  await closed()
  expect(log).toEqual(['1 lost'])
})

test.each(forms)(
  '(%s) %s is lost when the guest ended before it had all of it',
  async (...form) => {
    const { log, release } = await start(form, large)
    const socket = await ask(form)
    socket.pause()
    release[0]?.()
    await eventually(() => socket.readableLength > 0)
    socket.end()
    socket.resume()
    await closed()
    expect(log).toEqual(['1 lost'])
  },
)

test.each(forms)('(%s) %s is collected when a slow guest has all of it', async (...form) => {
  const { log, release } = await start(form, large)
  const socket = await ask(form)
  socket.pause()
  release[0]?.()
  await eventually(() => socket.readableLength > 0)
  socket.resume()
  await eventually(() => log.length > 0)
  socket.end()
  await closed()
  expect(log).toEqual(['1 collected'])
})

test.each(forms)(
  '(%s) %s on a connection to be closed is watched until the guest ends it',
  async (...form) => {
    const { log, release } = await start(form, small, { options: { timing: { lingerMs: 60_000 } } })
    const [reset, ended] = [0, 1].map((n) => bareRequest(at, form[0], n, ['Connection: close']))
    for (const [n, request] of [reset, ended].entries()) {
      const socket = await bareSocket(at, 'stubborn')
      sockets.push(socket)
      socket.write(request as string)
      await eventually(() => at.calls.length === n + 1)
      release[n]?.()
      await eventually(() => socket.readableEnded)
      if (n === 0) socket.resetAndDestroy()
      else socket.end()
      await closed()
    }
    expect(log).toEqual(['0 collected', '0 lost', '1 collected'])
  },
)

test('a connection to be closed is closed in a moment, also when the guest does not end it', async () => {
  const { log, release } = await start(['legacy', 'a body'], small, {
    options: { timing: { lingerMs: 20 } },
  })
  const socket = await bareSocket(at, 'stubborn')
  sockets.push(socket)
  socket.write(bareRequest(at, 'legacy', 1, ['Connection: close']))
  await eventually(() => release.length === 1)
  release[0]?.()
  await closed()
  expect(log).toEqual(['1 collected'])
})

test('answers of pipelined calls are lost together', async () => {
  const { log, release } = await start(['legacy', 'a body'])
  const socket = await ask(['legacy', 'a body'], [1, 2, 3])
  release[1]?.()
  release[0]?.()
  await eventually(() => log.length === 2)
  socket.resetAndDestroy()
  await closed()
  release[2]?.()
  await eventually(() => log.length === 5)
  expect(log).toEqual(['1 collected', '2 collected', '1 lost', '2 lost', '3 lost'])
})

test('an answer behind more events than may pile up is lost', async () => {
  const log: string[] = []
  const message = 'x'.repeat(1024 * 1024)
  const flood = ({ progress }: CallRequest) => {
    for (let n = 0; n < 64; n++) progress?.({ intent: 'int_1', progress: n, message })
    return delivered(small, (what) => log.push(what))
  }
  at = await startScripted({ options: { timing: { backlogBytes: 1024 * 1024 } }, answer: flood })
  const body = rpc('tools/call', { name: 'files__read', _meta: { progressToken: 1 } })
  const socket = await bareSocket(at)
  sockets.push(socket)
  socket.pause()
  const head = ['Accept: text/event-stream', `Content-Length: ${body.length}`]
  socket.write(bearerHead(at, head) + body)
  await eventually(() => log.length > 0)
  await closed()
  expect(log).toEqual(['lost'])
})
