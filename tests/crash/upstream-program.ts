/**
 * An upstream as a process of its own, which may be killed: what it has done stands in a file, one line a write, and is
 * counted on after it was started again on its port.
 */
import { openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startCountedUpstream } from '../system/counted-upstream.ts'
import type { StepBook } from './preload/step-book.ts'

export interface Effect {
  /** As the guest named the write. */
  readonly id: string
  readonly execution: string
}

export interface UpstreamPlace {
  readonly url: string
  /** Of the harness: with `?id=…` a call that was sent with `hold` is answered. Tells how many connections came. */
  readonly control: string
}

const [effectsFile = '', port = '0'] = process.argv.slice(2)
const { crashBook } = globalThis as { crashBook?: StepBook }
const file = openSync(effectsFile, 'a')

const upstream = await startCountedUpstream({
  port: Number(port),
  effect: (id, { meta }) => {
    crashBook?.reach(['effect'], 'before')
    const execution = String(meta?.['dev.sallyport/idempotency-key'])
    writeSync(file, `${JSON.stringify({ id, execution } satisfies Effect)}\n`)
    crashBook?.reach(['effect'], 'after')
  },
})
const control = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '', 'http://localhost')
  const id = searchParams.get('id')
  if (id !== null) upstream.release(id)
  response.end(String(upstream.upstream.connections))
})
control.listen(0, '127.0.0.1', () => {
  const place: UpstreamPlace = {
    url: upstream.url,
    control: `http://127.0.0.1:${(control.address() as AddressInfo).port}/`,
  }
  process.stdout.write(`${JSON.stringify(place)}\n`)
})
// Whoever started it is gone, perhaps killed.
process.stdin.on('end', () => process.exit()).resume()
